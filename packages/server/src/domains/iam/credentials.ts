/** Who is it? Source: behaviour conventions 14. */
import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../core/api-error.ts'
import { verifyPassword } from '../../core/passwords.ts'
import type { Authenticator } from '../../core/ports.ts'
import type { Store } from '../../store/store.ts'

export function createAuthenticator(options: { readonly store: Store; readonly [other: string]: unknown }): Authenticator {
  const remembered = new Map<string, { readonly until: number; readonly extId: string }>()
  return {
    async authenticate({ authorization }) {
      const [scheme, text] = authorization?.split(' ') ?? []
      if (scheme?.toLowerCase() !== 'basic' || text === undefined) throw new ApiError('AUTHENTICATION_REQUIRED')
      const plain = Buffer.from(text, 'base64').toString()
      const name = plain.slice(0, plain.indexOf(':'))
      const user = await options.store.findOne(User, { username: name })
      if (user === undefined) throw new ApiError('AUTHENTICATION_REQUIRED')
      const known = remembered.get(text)
      if (known === undefined || known.until < Date.now()) {
        if (!(await verifyPassword(plain.slice(plain.indexOf(':') + 1), (user as any).passwordHash))) throw new ApiError('AUTHENTICATION_REQUIRED')
        remembered.set(text, { until: Date.now() + 60_000, extId: user.extId })
      }
      return {
        extId: user.extId,
        name: user.username,
        type: 'LOCAL',
        groups: [],
        credential: 'basic',
        tenantId: user.tenantId as string,
      }
    },
  }
}
