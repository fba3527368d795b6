/** Snapshots that a simulated external management keeps in the fact of their VM. Source: behaviour vmm.md 1.6, 1.7, 3.4. */

import { defined } from '../../core/defined.ts'
import { derivedId } from '../../core/ids/named-id.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ExternalSnapshots, OutsideVm } from '../external-hypervisor.ts'
import type { DiskSnapshot } from '../hypervisor.ts'
import { type OutsideVmFact, type SnapshotFact, type SnapshotHistory, withPower } from './external-facts.ts'
import type { DiskFact } from './hypervisor/facts.ts'
import { frozen, fullBytes, merged, over, ownBytes } from './hypervisor/layers.ts'
import type { Collection, SimulatedWorld } from './world.ts'

interface Parts {
  readonly vms: Collection<OutsideVmFact>
  readonly reached: (vmExtId: string) => Promise<OutsideVmFact>
  readonly pass: (seconds: number) => Promise<void>
}

type OutsideDisk = NonNullable<OutsideVm['disks']>[number]

const snapshotSeconds = 2
const revertSeconds = 5

export function createExternalSnapshots({ clock }: SimulatedWorld, { vms, reached, pass }: Parts): ExternalSnapshots {
  return {
    async takeSnapshot(vmExtId, { extId, isQuiesced }) {
      await reached(vmExtId)
      await pass(snapshotSeconds)
      const fact = await reached(vmExtId)
      const taken = fact.history?.snapshots[extId]
      if (taken !== undefined) return { vm: taken.vm, layers: layersOf(extId, taken.vm) }
      if (isQuiesced && fact.vm.powerState === 'SUSPENDED')
        throw DriverError.final('a suspended guest cannot be frozen')
      await vms.put(vmExtId, { ...fact, history: withSnapshot(fact, extId, clock.now()) })
      return { vm: fact.vm, layers: layersOf(extId, fact.vm) }
    },
    async removeSnapshot(vmExtId, snapshotExtId) {
      if (vms.get(vmExtId) === undefined) return
      const { history, ...fact } = await reached(vmExtId)
      if (history?.snapshots[snapshotExtId] === undefined) return
      const { [snapshotExtId]: _, ...snapshots } = history.snapshots
      const isLast = Object.keys(snapshots).length === 0 && history.renewedNicExtIds === undefined
      const kept = isLast ? {} : pruned({ ...history, snapshots }, fact.vm, clock.now())
      await vms.put(vmExtId, { ...fact, ...kept })
    },
    async revertToSnapshot(vmExtId, snapshotExtId, callKey) {
      const before = await reached(vmExtId)
      if (before.lastCall !== callKey) {
        await pass(revertSeconds)
        const fact = await reached(vmExtId)
        await vms.put(vmExtId, { ...reverted(fact, snapshotExtId, { vms, now: clock.now() }), lastCall: callKey })
      }
      const { vm, history } = await reached(vmExtId)
      return { vm, renewedNicExtIds: history?.renewedNicExtIds ?? [] }
    },
    layers: (at = clock.now()) =>
      new Map(
        [...vms.all().values()].flatMap(({ history }) =>
          Object.entries(history?.layers ?? {}).map(([extId, layer]) => {
            const { containerExtId } = layer
            return [extId, { containerExtId, ownBytes: ownBytes(layer, at) }] as const
          }),
        ),
      ),
  }
}

const layersOf = (snapshotExtId: string, { disks = [] }: OutsideVm): DiskSnapshot[] =>
  disks.flatMap(({ extId }) =>
    extId === undefined ? [] : { diskExtId: extId, layerExtId: derivedId(`layer of ${snapshotExtId}`, extId) },
  )

/** The disk before its first snapshot: its guest filled it long ago. */
const unlayered = ({ backingInfo }: OutsideDisk, now: number): DiskFact => {
  const sizeBytes = backingInfo?.diskSizeBytes ?? 0
  const containerExtId = backingInfo?.storageContainer?.extId ?? ''
  return { containerExtId, sizeBytes, createdAt: now, mergedBytes: Math.floor(fullBytes(sizeBytes)) }
}

function withSnapshot(fact: OutsideVmFact, snapshotExtId: string, now: number): SnapshotHistory {
  const { hasOwnTools, history, tools, toolsIso, vm } = fact
  const layers: Record<string, DiskFact> = { ...history?.layers }
  const disks = new Map((vm.disks ?? []).map((disk) => [disk.extId, disk]))
  for (const { diskExtId, layerExtId } of layersOf(snapshotExtId, vm)) {
    const top = layers[diskExtId] ?? unlayered(disks.get(diskExtId) as OutsideDisk, now)
    layers[layerExtId] = frozen(top, now)
    layers[diskExtId] = over(top, layerExtId, now)
  }
  const snapshot: SnapshotFact = { vm, hasOwnTools, ...defined({ tools, toolsIso }) }
  return { ...history, layers, snapshots: { ...history?.snapshots, [snapshotExtId]: snapshot } }
}

/** Without the layers that neither a disk nor a snapshot needs. */
function pruned(history: SnapshotHistory, vm: OutsideVm, now: number): Pick<OutsideVmFact, 'history'> {
  const ofSnapshots = Object.entries(history.snapshots).flatMap(([extId, taken]) => layersOf(extId, taken.vm))
  const kept = new Set([
    ...(vm.disks ?? []).flatMap(({ extId }) => extId ?? []),
    ...ofSnapshots.map(({ layerExtId }) => layerExtId),
  ])
  const layers = collapsed(new Map(Object.entries(history.layers)), kept, now)
  return { history: { ...history, layers: Object.fromEntries(layers) } }
}

/** @throws DriverError, final, without the snapshot */
function reverted(
  fact: OutsideVmFact,
  snapshotExtId: string,
  { vms, now }: { readonly vms: Collection<OutsideVmFact>; readonly now: number },
): OutsideVmFact {
  const { history, tools: _tools, toolsIso: _iso, ...rest } = withPower(fact, 'OFF', 'OFF', now)
  const snapshot = history?.snapshots[snapshotExtId]
  if (history === undefined || snapshot === undefined) throw DriverError.final('the management has no such snapshot')
  const layers: Record<string, DiskFact> = { ...history.layers }
  for (const { extId } of fact.vm.disks ?? []) if (extId !== undefined) delete layers[extId]
  for (const { diskExtId, layerExtId } of layersOf(snapshotExtId, snapshot.vm)) {
    const layer = layers[layerExtId] as DiskFact
    layers[diskExtId] = over(layer, layerExtId, now)
  }
  const { cluster, host } = fact.vm
  const { nics, renewedNicExtIds } = nicsWithFreeAddresses(snapshot.vm, vms)
  const vm = { ...snapshot.vm, ...defined({ cluster, host, nics }), powerState: 'OFF' } as const
  return { ...rest, ...snapshot, vm, ...pruned({ ...history, layers, renewedNicExtIds }, vm, now) }
}

/** A NIC whose MAC address another VM has by now gets a new one. */
function nicsWithFreeAddresses({ extId, nics }: OutsideVm, vms: Collection<OutsideVmFact>) {
  const others = [...vms.all().values()].filter(({ vm }) => vm.extId !== extId)
  const taken = new Set(others.flatMap(({ vm }) => (vm.nics ?? []).map(({ backingInfo }) => backingInfo?.macAddress)))
  const renewedNicExtIds: string[] = []
  const kept = nics?.map((nic) => {
    const macAddress = nic.backingInfo?.macAddress
    if (macAddress === undefined || !taken.has(macAddress)) return nic
    if (nic.extId !== undefined) renewedNicExtIds.push(nic.extId)
    const next = freeAddress(macAddress, taken)
    taken.add(next)
    return { ...nic, backingInfo: { ...nic.backingInfo, macAddress: next } }
  })
  return { nics: kept, renewedNicExtIds }
}

function freeAddress(macAddress: string, taken: ReadonlySet<string | undefined>): string {
  for (let number = 0; ; number++) {
    const octets = number.toString(16).padStart(6, '0').match(/../g) as string[]
    const address = ['00:50:56', ...octets].join(':')
    if (address !== macAddress && !taken.has(address)) return address
  }
}

/** Without layers that are not `kept`: a single layer over one takes its bytes; below several layers it stays. */
function collapsed(
  layers: ReadonlyMap<string, DiskFact>,
  kept: ReadonlySet<string>,
  now: number,
): ReadonlyMap<string, DiskFact> {
  const left = new Map(layers)
  const collapse = (extId: string, fact: DiskFact): boolean => {
    const [upper, ...others] = [...left].filter(([, { parentExtId }]) => parentExtId === extId)
    if (kept.has(extId) || others.length > 0) return false
    if (upper !== undefined) left.set(upper[0], merged(upper[1], fact, now))
    return left.delete(extId)
  }
  // A removed layer may have been one of several over the next one.
  while ([...left].some(([extId, fact]) => collapse(extId, fact)));
  return left
}
