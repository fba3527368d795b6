/** Source: behaviour networking.md 1.3. */

import { contract } from '@hyperplane/contract'
import { AddressLease, AddressRun, AddressTally } from '@hyperplane/contract/networking/address-lease'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { formatAddress, fromSortable, toSortable } from '../../core/ip-address.ts'
import type { Reader } from '../../store/store.ts'
import type { Broken, Invariant } from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { families } from './address-plan.ts'
import { type Lease, tallyOf, textOfLease } from './leases.ts'

export const addressesAreCounted: Invariant = {
  promise: 'Runs and tallies of addresses follow from the leases',
  look: leasesAreCounted,
}

export const addressRules: readonly Invariant[] = [
  { promise: 'Every lease of an address is of a subnet, and its holder is there', look: leasesHaveHolders },
  addressesAreCounted,
]

const networkingKinds = contract
  .filter(({ name }) => name === 'networking')
  .flatMap(({ resources }) => resources)
  .filter(({ derived }) => derived !== true)

async function* leasesHaveHolders(store: Reader): AsyncGenerator<Broken> {
  for await (const lease of rowsOf(store, AddressLease)) {
    const { subnetExtId, holderExtId, isLeaving } = lease
    const subnet = await store.get(Subnet, subnetExtId as string)
    const shown = `the lease of ${textOfLease(lease)}`
    if (subnet === undefined) {
      yield { about: [subnetExtId], fault: `${shown} is of the subnet ${subnetExtId}, which is not there` }
      continue
    }
    if (holderExtId === undefined || isLeaving === true || holderExtId === subnetExtId) continue
    const nic = await store.findOne(MacLease, { nicExtId: holderExtId })
    if (nic !== undefined || (await holderExists(store, holderExtId))) continue
    yield {
      about: [subnetExtId, holderExtId],
      fault: `${shown} in the subnet "${subnet.name}" is held by ${holderExtId}, which is not there`,
    }
  }
}

/** Does not look for NICs. */
async function holderExists(store: Reader, holderExtId: string): Promise<boolean> {
  for (const kind of [DomainManager, ...networkingKinds])
    if ((await store.pending(kind, holderExtId)) !== undefined) return true
  return false
}

async function* leasesAreCounted(store: Reader): AsyncGenerator<Broken> {
  for await (const { extId, name } of rowsOf(store, Subnet)) {
    const counted = { assigned: 0, reserved: 0 }
    for (const family of families) {
      const runs = rowsOf(store, AddressRun, { subnetExtId: extId, family }, 'first')
      let fault: string | undefined
      for await (const { first, last } of segmentsOf(leasesIn(store, extId, family, counted))) {
        // Iterate to the end even after a fault: `leasesIn` counts the leases for the check of the tally.
        if (fault !== undefined) continue
        const { value: run } = await runs.next()
        if (run?.first !== first || run.last !== last) fault = formatAddress(fromSortable(family, first))
      }
      const { value: beyond } = await runs.next()
      if (fault === undefined && beyond?.first !== undefined) fault = formatAddress(fromSortable(family, beyond.first))
      if (fault !== undefined)
        yield {
          about: [extId],
          fault: `the runs of leased addresses of the subnet "${name}" are wrong from ${fault} on`,
        }
    }
    const kept = await tallyOf(store, extId)
    if (kept.assigned !== counted.assigned || kept.reserved !== counted.reserved)
      yield {
        about: [extId],
        fault: `the subnet "${name}" counts ${countsText(kept)} addresses, and leases ${countsText(counted)}`,
      }
  }
  for await (const { extId } of rowsOf(store, AddressTally))
    if (!(await store.has(Subnet, extId)))
      yield { about: [extId], fault: `addresses are counted of the subnet ${extId}, which is not there` }
}

const countsText = ({ assigned, reserved }: { assigned: number; reserved: number }): string =>
  `${assigned} assigned and ${reserved} reserved`

/** In address order; adds each lease to `counted`. */
async function* leasesIn(
  store: Reader,
  subnetExtId: string,
  family: Lease['family'] & string,
  counted: { assigned: number; reserved: number },
): AsyncGenerator<Lease> {
  for await (const lease of rowsOf(store, AddressLease, { subnetExtId, family }, 'address')) {
    if (lease.kind === 'RESERVED') counted.reserved++
    else if (lease.kind !== 'GATEWAY' && lease.kind !== 'DHCP_SERVER') counted.assigned++
    yield lease
  }
}

async function* segmentsOf(leases: AsyncIterable<Lease>): AsyncGenerator<{ first: string; last: string }> {
  let open: { first: string; last: string } | undefined
  for await (const { family, address } of leases) {
    if (family === undefined || address === undefined) continue
    const { value } = fromSortable(family, address)
    if (open !== undefined && open.last === toSortable({ family, value: value - 1n })) open.last = address
    else {
      if (open !== undefined) yield open
      open = { first: address, last: address }
    }
  }
  if (open !== undefined) yield open
}
