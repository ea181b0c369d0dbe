/** Whether a host, as an option or a URL writes it, is this machine itself. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/u.test(host);
}
