/** Fault messages for administrators. They repeat no text of the other side. */
import { DirectoryError, type DirectoryFault } from '../directory.ts'

const byCode: Readonly<Record<string, readonly [DirectoryFault, string]>> = {
  EAI_AGAIN: ['dns', 'DNS: the name server did not answer'],
  ECONNREFUSED: ['refused', 'connection refused: nothing listens there'],
  ECONNRESET: ['refused', 'the connection was closed'],
  EHOSTUNREACH: ['refused', 'the host cannot be reached'],
  ENETUNREACH: ['refused', 'the network cannot be reached'],
  ENODATA: ['dns', 'DNS: the name has no address'],
  ENOTFOUND: ['dns', 'DNS: the name is unknown'],
  ETIMEDOUT: ['timeout', 'time-out: no connection'],
}

const invalidCredentials = 49
export const invalidDistinguishedName = 34

/** @param isSecure an unknown fault counts as one of TLS */
export function directoryErrorOf(error: unknown, isSecure: boolean): DirectoryError {
  if (error instanceof DirectoryError) return error
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === invalidCredentials) return new DirectoryError('credentials', 'invalid credentials', { cause: error })
  if (code === invalidDistinguishedName)
    return new DirectoryError('credentials', 'invalid credentials: it takes a distinguished name', { cause: error })
  if (typeof code === 'number')
    return new DirectoryError('protocol', `it answered with LDAP result ${code}`, { cause: error })
  // Several addresses were tried: report the first error.
  const [first] = error instanceof AggregateError ? error.errors : [error]
  const name = String((first as NodeJS.ErrnoException | undefined)?.code ?? '')
  const faultOfCode = byCode[name]
  if (faultOfCode !== undefined && !(isSecure && name === 'ECONNRESET'))
    return new DirectoryError(faultOfCode[0], faultOfCode[1], { cause: error })
  if (isSecure) return new DirectoryError('tls', `TLS: ${tlsCause(first)}`, { cause: error })
  return new DirectoryError('protocol', 'it does not answer as a directory does', { cause: error })
}

/** Only OpenSSL's error names (`DEPTH_ZERO_SELF_SIGNED_CERT`), no text of the other side. */
function tlsCause(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'the certificate is for another host'
  if (typeof code !== 'string' || !/^[A-Z0-9_]+$/.test(code)) return 'no encrypted connection'
  return code
    .replace(/^ERR_(?:SSL|TLS)_/, '')
    .toLowerCase()
    .replaceAll('_', ' ')
}
