/** Source: RFC 9112, 3.2. */

export interface Target {
  readonly path: string
  readonly query: string
  /** A target in absolute form has one, which replaces the header Host. */
  readonly authority: string | undefined
}

export function readTarget(target: string): Target {
  if (target.startsWith('/')) return split(target, undefined)
  const [, authority, rest = ''] = /^https?:\/\/([^/?]*)(.*)$/is.exec(target) ?? []
  if (authority === undefined) return split(target, undefined)
  return split(rest.startsWith('/') ? rest : `/${rest}`, authority)
}

function split(target: string, authority: string | undefined): Target {
  const at = target.indexOf('?')
  if (at < 0) return { path: target, query: '', authority }
  return { path: target.slice(0, at), query: target.slice(at + 1), authority }
}
