/** Users of SNMP V3. Source: behaviour clustermgmt.md 1.1 (secrets), 1.12. */
import type { BodyOf } from '@hyperplane/contract'
import { SnmpUser, snmpUserOperations } from '@hyperplane/contract/clustermgmt/snmp-user'
import { ApiError, invalid } from '../../../core/api-error.ts'
import { created } from '../../../core/updates.ts'
import { type AffectedEntity, affected, implement } from '../../context.ts'
import { openSecrets } from '../settings-sections.ts'
import { type Section, type User, type UserRow, userIn, withUser } from './section.ts'
import { clusterInPath, snmpChange, startSnmpChange } from './tasks.ts'

interface OfUser {
  readonly user: UserRow
}

const affectedUser = ({ extId, username: name }: UserRow): AffectedEntity => affected(SnmpUser, { extId, name })

const createUser = snmpChange<OfUser>({
  operation: 'Create SNMP User',
  faults: ({ users }, { user }) =>
    users.some(({ username }) => username === user.username)
      ? [new ApiError('ENTITY_ALREADY_EXISTS', { kind: SnmpUser.title, fields: 'username' })]
      : [],
  next: (present, { user }, secrets) =>
    withUser(present, userIn(openSecrets(secrets, SnmpUser.kind, user.extId, user))),
  record: ({ store }, { user }) => store.publish(SnmpUser, user.extId),
  onUndone: ({ store }, { user }) => store.remove(SnmpUser, user.extId),
})

const updateUser = snmpChange<OfUser & { readonly body: User }>({
  operation: 'Update SNMP User',
  faults(present, input) {
    const faults = requireUser(present, input)
    return faults.length > 0 ? faults : keyFaults(withKeptKeys(present, input.body))
  },
  // Keeps the keys that the cluster has now: an earlier task may have replaced those of the acceptance.
  next: (present, { body }) => withUser(present, withKeptKeys(present, body)),
  given: ({ body }) => [body],
})

const deleteUser = snmpChange<OfUser>({
  operation: 'Delete SNMP User',
  faults(present, input) {
    const { username } = input.user
    const users = present.traps.filter((trap) => trap.version === 'V3' && trap.username === username)
    if (users.length === 0) return requireUser(present, input)
    const names = users.map(({ address, port }) => `the trap to ${address.ipv4?.value ?? address.ipv6?.value}:${port}`)
    return [new ApiError('SNMP_USER_IN_USE', { name: username, users: names.join(', ') })]
  },
  next: (present, { user }) => ({
    ...present,
    users: present.users.filter(({ username }) => username !== user.username),
  }),
})

export const snmpUser = implement(
  snmpUserOperations,
  {
    async createSnmpUser(ctx, { body }) {
      const cluster = clusterInPath(ctx)
      if (body.authKey === undefined) throw invalid('authKey', 'is required of a new user')
      const user = await ctx.store.insert(SnmpUser, created(ctx, SnmpUser, body, { clusterExtId: cluster.extId }), {
        pending: true,
      })
      return startSnmpChange(ctx, cluster, createUser, { user }, affectedUser(user))
    },

    async updateSnmpUserById(ctx, { body }) {
      const user = ctx.target
      await ctx.store.touch(SnmpUser, user.extId)
      return startSnmpChange(ctx, clusterInPath(ctx), updateUser, { user, body }, affectedUser(user))
    },

    deleteSnmpUserById: (ctx) =>
      startSnmpChange(ctx, clusterInPath(ctx), deleteUser, { user: ctx.target }, affectedUser(ctx.target)),
  },
  {
    rules: {
      createSnmpUser: ({ body }) => [
        ...privacyFaults(body),
        ...(body.privType !== undefined && body.privKey === undefined
          ? [invalid('privKey', 'is required beside privType')]
          : []),
      ],
      updateSnmpUserById: ({ body }) => privacyFaults(body),
    },
    tasks: [createUser.task, updateUser.task, deleteUser.task],
  },
)

const privacyFaults = ({ privType, privKey }: Partial<BodyOf<typeof SnmpUser>>): ApiError[] =>
  privKey !== undefined && privType === undefined ? [invalid('privType', 'is required beside privKey')] : []

function keyFaults({ authKey, privType, privKey }: User): ApiError[] {
  const faults: ApiError[] = []
  if (authKey === undefined)
    faults.push(invalid('authKey', 'is required: the key of this user was changed at the cluster'))
  if (privType !== undefined && privKey === undefined)
    faults.push(invalid('privKey', 'is required beside privType: none is stored for this user'))
  return faults
}

function withKeptKeys({ users }: Section, body: User): User {
  const { authKey, privKey } = users.find(({ username }) => username === body.username) ?? {}
  return userIn({ authKey, privKey, ...body })
}

/** The user may have been removed at the cluster. */
function requireUser({ users }: Section, { user: { extId, username } }: OfUser): ApiError[] {
  if (users.some((one) => one.username === username)) return []
  return [new ApiError('ENTITY_NOT_FOUND', { kind: SnmpUser.title, id: extId, attribute: 'extId' })]
}
