/** Requests by which suites that cover every kind reach users. */
import { createdPath, creating, named, updating } from '../../support/field-bases.ts'
import type { FieldBase } from '../kind.ts'

const users = '/iam/v4.1.b2/authn/users'
const password = 'Correct.Horse7'
const local = (more: object = {}) => ({ userType: 'LOCAL', username: named(), password, ...more })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.changeUserPassword': [
    async (app) => {
      const username = named()
      await createdPath(app, users, local({ username }))
      return {
        path: `${users}/$actions/change-password`,
        body: { username, oldPassword: password, newPassword: 'Another.Horse8' },
        as: `${username}:${password}`,
      }
    },
  ],
  'iam.createUser': [
    creating(users, local),
    creating(users, () => ({ userType: 'SERVICE_ACCOUNT', username: named() })),
  ],
  'iam.resetUserPassword': [
    async (app) => {
      const user = await createdPath(app, users, local())
      return { path: `${user}/$actions/reset-password`, body: { newPassword: 'Another.Horse8' } }
    },
  ],
  'iam.updateUserById': [
    updating(users, local),
    updating(users, () => ({ userType: 'SERVICE_ACCOUNT', username: named() })),
  ],
  'iam.updateUserState': [
    async (app) => ({
      path: `${await createdPath(app, users, local())}/$actions/change-state`,
      body: { status: 'INACTIVE' },
    }),
  ],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'iam.updateUserById password': ['Another.Horse8'],
}
