/** Accounts of simulated clusters and hosts: `hardware.accounts` by account; a BMC keeps its own password. */
import { DriverError } from '../../core/tasks/define-task.ts'
import { secretDigest } from '../hardware.ts'
import type { SystemAccountAccess, SystemAccounts } from '../system-accounts.ts'
import type { RequireAnswer } from './hardware-faults.ts'
import type { SimulatedWorld } from './world.ts'

export interface AccountFact {
  readonly clusterExtId: string
  /** Absent: the account of a cluster. */
  readonly hostExtId?: string
  readonly digest?: string
  /** The last change, and what it replaced. */
  readonly changed?: { readonly key: string; readonly before?: string }
}

export const accountFacts = (world: SimulatedWorld) => world.collection<AccountFact>('hardware.accounts')

interface HeldByBmc {
  readonly address: string
  readonly username: string
  readonly passwordDigest: string
}

interface Bmcs {
  readonly isSilent: (hostExtId: string) => boolean
  readonly digest: (hostExtId: string, password: string) => string
}

export function createSystemAccounts(world: SimulatedWorld, requireAnswer: RequireAnswer, bmcs: Bmcs): SystemAccounts {
  const facts = accountFacts(world)
  const bmcFacts = world.collection<HeldByBmc>('hardware.bmcs')

  const reach = ({ clusterExtId, hostExtId, bmc }: SystemAccountAccess, call: string): void => {
    if (bmc === undefined) requireAnswer(hostExtId ?? clusterExtId, call)
    if (bmc === undefined) return
    const fact = bmcFacts.get(bmc.hostExtId)
    if (fact === undefined || fact.address !== bmc.address || bmcs.isSilent(bmc.hostExtId))
      throw DriverError.final('the BMC did not answer within 10 s')
  }
  const put = async ({ bmc, extId }: SystemAccountAccess, fact: AccountFact): Promise<void> => {
    const stored = bmc && bmcFacts.get(bmc.hostExtId)
    // First, so that a repeated call finds the account unchanged and writes the same.
    if (bmc !== undefined && stored !== undefined && fact.digest !== undefined)
      await bmcFacts.put(bmc.hostExtId, { ...stored, passwordDigest: fact.digest })
    await facts.put(extId, fact)
  }

  return {
    async changePassword(account, password, callKey) {
      reach(account, 'changePassword')
      const { extId, clusterExtId, hostExtId, bmc } = account
      const fact = facts.get(extId)
      if (fact?.changed?.key === callKey) return
      const held = bmc === undefined ? undefined : bmcFacts.get(bmc.hostExtId)
      const digest =
        bmc === undefined ? secretDigest(`account/${extId}`, password) : bmcs.digest(bmc.hostExtId, password)
      if (bmc !== undefined && held?.passwordDigest !== digest) {
        const isLogin =
          held?.username === bmc.username && held.passwordDigest === bmcs.digest(bmc.hostExtId, bmc.password)
        if (!isLogin) throw DriverError.final('the BMC refused the stored credential')
      }
      const before = bmc === undefined ? fact?.digest : bmcs.digest(bmc.hostExtId, bmc.password)
      await put(account, {
        clusterExtId,
        ...(hostExtId === undefined ? {} : { hostExtId }),
        digest,
        changed: { key: callKey, ...(before === undefined ? {} : { before }) },
      })
    },

    async takeBackPassword(account, callKey) {
      const fact = facts.get(account.extId)
      if (fact?.changed?.key !== callKey) return
      const { changed, ...kept } = fact
      reach(account, 'takeBackPassword')
      const { before } = changed
      if (before !== undefined) await put(account, { ...kept, digest: before })
      if (before === undefined || account.bmc !== undefined) await facts.remove(account.extId)
    },
  }
}
