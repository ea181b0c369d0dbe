/** Whether a host, as an option, a URL or the Host of a request writes it, is this machine itself; it has no port. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d{1,3}){3})$/u.test(host);
}
