/** Requests by which suites that cover every kind reach users. */
import * as walk from '../../restart/walks/request-parts.ts'
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

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createUser: (asking) =>
    walk.post(walk.collections.users, {
      userType: 'LOCAL',
      username: walk.name(asking, 'walker').toLowerCase(),
      password: walk.walkersPassword,
    }),
  describeUser: (asking) =>
    walk.put(
      asking,
      asking.model.path(asking.draw, walk.collections.users),
      { displayName: walk.name(asking, 'Walker') },
      ['username', 'userType'],
    ),
  switchUser: ({ model, draw }) =>
    walk.post(`${model.path(draw, walk.collections.users)}/$actions/change-state`, {
      status: draw.of(['ACTIVE', 'INACTIVE']),
    }),
}

export const walkEntities = { [walk.collections.users]: ['user/viewer', 'user/operator'] }
