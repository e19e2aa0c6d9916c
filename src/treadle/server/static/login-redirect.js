// Where the user goes after signing in: a place of this server, whatever the address says.

/**
 * The address that `next` in a query string names, in full: its path alone may begin with two slashes and name another host.
 * @param {string} search @param {{ origin: string, pathname: string }} given
 */
export function redirectTarget(search, { origin, pathname }) {
  try {
    const place = new URL(new URLSearchParams(search).get("next") ?? "/", origin);
    return place.origin === origin && place.pathname !== pathname ? place.href : "/";
  } catch {
    return "/";
  }
}
