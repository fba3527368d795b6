/** The server of a source's URL, and requests to it. Source: behaviour vmm.md 1.8, 1.11, 3.6. */
import type { SecretReader } from '../../../core/world.ts'
import type { UrlAccess } from '../../../drivers/content-source.ts'

interface Sourced {
  readonly extId: string
  readonly source?: object | undefined
}

interface UrlSource {
  readonly url?: string
  readonly basicAuth?: unknown
  readonly shouldAllowInsecureUrl?: boolean
}

/** With the password in clear: for drivers only. undefined: the source is no URL. */
export function accessOf(secrets: SecretReader, kind: string, { extId, source }: Sourced): UrlAccess | undefined {
  const { url, basicAuth, shouldAllowInsecureUrl = false } = (source ?? {}) as UrlSource
  if (url === undefined) return undefined
  const opened = secrets.open(kind, extId, 'source/basicAuth', basicAuth)
  return {
    url,
    allowsUntrusted: shouldAllowInsecureUrl,
    ...(opened === undefined ? {} : { credential: JSON.parse(opened) }),
  }
}
