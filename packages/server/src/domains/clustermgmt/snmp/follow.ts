/** Rows follow the cluster's SNMP settings, changed by API, profile or cluster, which shows digests only: matching keys stay. */
import { SnmpSettings } from '@hyperplane/contract/clustermgmt/snmp-config'
import { SnmpTrap } from '@hyperplane/contract/clustermgmt/snmp-trap'
import { SnmpUser } from '@hyperplane/contract/clustermgmt/snmp-user'
import { canonicalJson } from '../../../core/idempotency.ts'
import { derivedId } from '../../../core/ids/named-id.ts'
import type { SecretReader } from '../../../core/world.ts'
import { type ClusterSettings, secretDigest } from '../../../drivers/hardware.ts'
import type { Transaction } from '../../../store/store.ts'
import { type Following as FollowingRows, type Write, writesOf } from '../followed-rows.ts'
import {
  type Section,
  sectionIn,
  type Trap,
  type TrapRow,
  trapIn,
  trapKey,
  type User,
  type UserRow,
} from './section.ts'

export interface Following extends FollowingRows {
  readonly secrets: SecretReader
}

export type Keys = Pick<User, 'authKey' | 'privKey'>
export async function followSnmp(
  ctx: Following & { readonly store: Transaction },
  clusterExtId: string,
  actual: ClusterSettings,
  given: readonly User[] = [],
): Promise<void> {
  for (const write of await snmpWrites(ctx, clusterExtId, actual, given)) await write(ctx.store)
}

/** @param given users with the keys that were just written; keys of other users come from their rows */
export async function snmpWrites(
  ctx: Following,
  clusterExtId: string,
  actual: ClusterSettings,
  given: readonly User[] = [],
): Promise<readonly Write[]> {
  const section = sectionIn(actual)
  return [
    ...(await settingsWrites(ctx, clusterExtId, section)),
    ...(await userWrites(ctx, clusterExtId, section.users, given)),
    ...(await trapWrites(ctx, clusterExtId, section.traps)),
  ]
}

export const snmpConfigId = (clusterExtId: string): string => derivedId(clusterExtId, 'snmp')

async function settingsWrites(
  { store, tenantId }: Following,
  clusterExtId: string,
  { isEnabled, transports }: Section,
): Promise<Write[]> {
  const stored = await store.findOne(SnmpSettings, { clusterExtId })
  const next = { extId: snmpConfigId(clusterExtId), tenantId, clusterExtId, isEnabled, transports: [...transports] }
  const { isEnabled: wasEnabled, transports: before } = stored ?? sectionIn({})
  if (canonicalJson([wasEnabled, before]) === canonicalJson([isEnabled, transports])) return []
  return [(store) => (stored === undefined ? store.insert(SnmpSettings, next) : store.replace(SnmpSettings, next))]
}

async function userWrites(
  ctx: Following,
  clusterExtId: string,
  actual: readonly User[],
  given: readonly User[],
): Promise<Write[]> {
  const rows = await ctx.store.findWhere(SnmpUser, { clusterExtId })
  return writesOf(SnmpUser, ctx, clusterExtId, {
    rows,
    actual,
    keyOf: ({ username }) => username,
    next(user, row) {
      const { username, authType, privType } = user
      const stored = row === undefined ? {} : openKeys(ctx.secrets, row)
      const supplied = given.find((one) => one.username === username) ?? {}
      const keyOf = (name: keyof Keys): Keys =>
        agreeing(clusterExtId, name, user[name], [(supplied as Keys)[name], stored[name]])
      const keys = { ...keyOf('authKey'), ...(privType === undefined ? {} : keyOf('privKey')) }
      const isSame =
        row?.authType === authType && row.privType === privType && canonicalJson(keys) === canonicalJson(stored)
      return isSame ? undefined : ({ username, authType, ...(privType && { privType }), ...keys } as User)
    },
  })
}

export function openKeys(secrets: SecretReader, { extId, authKey, privKey }: UserRow): Keys {
  const open = (name: keyof Keys, value: unknown): Keys => {
    const plain = value === undefined ? undefined : secrets.open(SnmpUser.kind, extId, name, value)
    return plain === undefined ? {} : { [name]: plain }
  }
  return { ...open('authKey', authKey), ...open('privKey', privKey) }
}

/** The candidate that has the digest; none if the key was changed at the cluster. */
function agreeing(
  clusterExtId: string,
  name: keyof Keys,
  actual: unknown,
  candidates: readonly (string | undefined)[],
): Keys {
  const { digest } = (actual ?? {}) as { readonly digest?: string }
  const found = candidates.find((plain) => plain !== undefined && secretDigest(clusterExtId, plain) === digest)
  return found === undefined ? {} : { [name]: found }
}

async function trapWrites(ctx: Following, clusterExtId: string, actual: readonly Trap[]): Promise<Write[]> {
  const rows = await ctx.store.findWhere(SnmpTrap, { clusterExtId })
  return writesOf(SnmpTrap, ctx, clusterExtId, {
    rows,
    actual,
    keyOf: trapKey,
    next: (trap, row) =>
      row !== undefined && canonicalJson(trapIn(row)) === canonicalJson(trapIn(trap))
        ? undefined
        : ({ ...trapIn(trap), receiver: trapKey(trap) } as TrapRow),
  })
}
