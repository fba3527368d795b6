/** The SNMP settings of a cluster in the form in which it holds them: users and traps have no ids there. */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import type { SnmpConfig } from '@hyperplane/contract/clustermgmt/settings'
import { SnmpTrap } from '@hyperplane/contract/clustermgmt/snmp-trap'
import { SnmpUser } from '@hyperplane/contract/clustermgmt/snmp-user'
import { defined } from '../../../core/defined.ts'
import { writableValue } from '../../../core/updates.ts'
import type { ClusterSettings } from '../../../drivers/hardware.ts'

type Config = ValueOf<typeof SnmpConfig>
export type User = NonNullable<Config['users']>[number]
export type Trap = NonNullable<Config['traps']>[number]
export type Transport = NonNullable<Config['transports']>[number]
export type UserRow = EntityOf<typeof SnmpUser>
export type TrapRow = EntityOf<typeof SnmpTrap>

export interface Section {
  readonly isEnabled: boolean
  readonly transports: readonly Transport[]
  readonly users: readonly User[]
  readonly traps: readonly Trap[]
}

export function sectionIn({ SNMP_SERVER_CONFIG: found = {} }: ClusterSettings): Section {
  const { isEnabled = false, transports = [{ protocol: 'UDP', port: 161 }], users = [], traps = [] } = found
  return { isEnabled, transports, users, traps }
}

export const isSameTransport = (a: Transport, b: Transport): boolean => a.protocol === b.protocol && a.port === b.port

/** Unique among the traps of a cluster. */
export const trapKey = ({ address, port, username = '' }: Trap): string =>
  [address.ipv4?.value ?? '', address.ipv6?.value ?? '', port, username].join(' ')

export function userIn(row: User): User {
  const { privKey, ...user } = writableValue(SnmpUser.schema, row) as User
  return user.privType === undefined ? user : defined({ ...user, privKey })
}

export const trapIn = (row: Trap): Trap => writableValue(SnmpTrap.schema, row) as Trap

export const withUser = (section: Section, user: User): Section => ({
  ...section,
  users: replacedOrAdded(section.users, ({ username }) => username === user.username, user),
})

/** @param before key of the replaced trap */
export const withTrap = (section: Section, trap: Trap, before = trapKey(trap)): Section => ({
  ...section,
  traps: replacedOrAdded(section.traps, (other) => [before, trapKey(trap)].includes(trapKey(other)), trap),
})

function replacedOrAdded<T>(list: readonly T[], isIt: (item: T) => boolean, item: T): T[] {
  const at = list.findIndex(isIt)
  const rest = list.filter((other) => !isIt(other))
  rest.splice(at === -1 ? rest.length : at, 0, item)
  return rest
}
