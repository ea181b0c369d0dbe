const GUESSED_WORDS =
  /change.?me|replace.?me|password|passw0rd|insecure|example|your.?secret|default|123456789/iu;
const REPEATED = /^(.{1,16}?)\1+$/su;
const FEWEST_CHARACTERS = 8;

/** Whether a secret of enough length is guessable: a repetition, few characters, a known word. */
export function isWeakSecret(secret: string): boolean {
  return GUESSED_WORDS.test(secret) || REPEATED.test(secret) || new Set(secret).size < FEWEST_CHARACTERS;
}
