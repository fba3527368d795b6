/** NICs that change while their domain runs. Source: behaviour vmm.md 1.4 (assign-ip), 3.3. */
import { isDeepStrictEqual } from 'node:util'
import type { Domain, DomainNic } from '../../hypervisor.ts'
import type { DomainFact, NicChange } from './facts.ts'

const forgetMillis = 10_000
/** The guest renews its DHCP lease, or asks for the first one. */
export const renewMillis = 5000

export function nicChangesOf(fact: DomainFact, next: Domain, at: number): Readonly<Record<string, NicChange>> {
  const changes: Record<string, NicChange> = {}
  for (const nic of next.nics) {
    const defined = fact.domain.nics.find(({ extId }) => extId === nic.extId)
    const earlier = fact.nicChanges?.[nic.extId]
    const before = defined && seenNic(defined, earlier, at)
    if (before !== undefined && isSameNetwork(before, nic)) continue
    const isUnchanged = defined !== undefined && isSameNetwork(defined, nic)
    changes[nic.extId] = isUnchanged && earlier !== undefined ? earlier : { at, ...(before && { before }) }
  }
  return changes
}

const isSameNetwork = (before: DomainNic, nic: DomainNic): boolean =>
  before.isConnected === nic.isConnected &&
  before.subnetExtId === nic.subnetExtId &&
  before.address === nic.address &&
  isDeepStrictEqual(before.vlan, nic.vlan)

/** The guest knows the NIC as it is, connected or not. */
export const isSeen = ({ at }: NicChange, now: number): boolean => now >= at + forgetMillis

/** From the guest's view: for some seconds after a change, as before. Undefined: not seen yet. */
export function seenNic(nic: DomainNic, change: NicChange | undefined, now: number): DomainNic | undefined {
  if (change === undefined) return nic
  const delay = nic.isConnected ? renewMillis : forgetMillis
  return now < change.at + delay ? change.before : nic
}
