/** Requests by which suites that cover every kind reach API keys of users. */
import { createdPath, named } from '../../support/field-bases.ts'
import type { FieldBase } from '../kind.ts'

const users = '/iam/v4.1.b2/authn/users'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.createUserKey': [
    async (app) => {
      const user = await createdPath(app, users, { userType: 'SERVICE_ACCOUNT', username: named() })
      return { path: `${user}/keys`, body: { name: named(), keyType: 'API_KEY' } }
    },
  ],
}
