/** API key, else HTTP Basic, else client certificate; all failures look alike. Source: conventions 14; iam.md 1, 2, 5. */
import { ApiError } from '../../core/api-error.ts'
import type { Authenticator } from '../../core/ports.ts'
import { callerByKey, callerByKnownKey } from './credentials/api-key.ts'
import { callerByCertificate } from './credentials/certificate.ts'
import { type AuthenticatorOptions, createDesk } from './credentials/desk.ts'
import { PasswordSignIn } from './credentials/password.ts'

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const desk = createDesk(options)
  const { cache, signIns, directories } = desk
  const passwords = new PasswordSignIn(desk)
  return {
    async authenticate({ authorization, apiKey, certificate, address, basicOnly }) {
      if (apiKey !== undefined && apiKey.trim() !== '' && !basicOnly) return callerByKey(desk, apiKey, address)
      if (authorization === undefined && apiKey === undefined && certificate !== undefined && !basicOnly)
        return callerByCertificate(desk, certificate, address)
      if (authorization === undefined) throw new ApiError('AUTHENTICATION_REQUIRED')
      return passwords.callerOf(authorization, address)
    },
    known({ authorization, apiKey, certificate, address }) {
      if (apiKey !== undefined) return callerByKnownKey(desk, apiKey, address)
      if (authorization === undefined || certificate !== undefined) return undefined
      return passwords.known(authorization, address)
    },
    forget: (identity) => cache.forget(identity),
    forgetProvider(extId) {
      cache.forgetProvider(extId)
      directories.forget(extId)
    },
    countFailure(name, address) {
      if (name === undefined) return desk.failures.count(address)
      void signIns.fail(name.toLowerCase(), address).catch(() => undefined)
    },
    isLocked: (name, address) => signIns.isLocked(name.toLowerCase(), address),
    unlock: (name) => signIns.unlock(name.toLowerCase()),
  }
}
