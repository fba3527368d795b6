/** Guests of external VMs and the tools of this control plane in them. Source: behaviour vmm.md 1.5, 1.7, 3.3. */

import { derivedId } from '../../core/ids/named-id.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ExternalGuests, OutsideGuest, OutsideVm } from '../external-hypervisor.ts'
import type { GuestSystem } from '../hypervisor.ts'
import type { OutsideVmFact, ToolsInGuest } from './external-facts.ts'
import { type BootTimes, bootTimes } from './guest.ts'
import type { Collection, SimulatedWorld } from './world.ts'

interface ExternalGuestParts {
  readonly vms: Collection<OutsideVmFact>
  readonly isConnected: (clusterExtId: string) => boolean
  readonly reached: (vmExtId: string) => Promise<OutsideVmFact>
  readonly isInstant: boolean
}

type Change = (fact: OutsideVmFact, changes: Partial<OutsideVmFact>) => Promise<OutsideVm>
type CdRom = NonNullable<OutsideVm['cdRoms']>[number]

/** Drives that a bus takes, in the order in which they are used. */
const buses = { IDE: 4, SATA: 30 } as const

export function createExternalGuests(
  world: SimulatedWorld,
  { vms, isConnected, reached, isInstant }: ExternalGuestParts,
): ExternalGuests {
  const change: Change = async (fact, changes) => {
    const changed = { ...fact, ...changes }
    await vms.put(fact.vm.extId, changed)
    return changed.vm
  }
  const timesOf = (fact: OutsideVmFact): BootTimes | undefined =>
    fact.now &&
    bootTimes({
      seed: `${world.seed}/${fact.vm.extId}/${fact.now.startedAt}`,
      startedAt: fact.now.startedAt,
      os: isWindows(fact.vm) ? 'windows' : 'linux',
      hasPendingCustomization: false,
      isInstant,
    })

  return {
    guestOf(vmExtId): OutsideGuest | undefined {
      const fact = vms.get(vmExtId)
      if (fact === undefined || !isConnected(fact.vm.cluster?.extId ?? '')) return undefined
      const { now: run, tools, toolsIso, vm } = fact
      const now = world.clock.now()
      const times = timesOf(fact)
      const { loader = Number.POSITIVE_INFINITY, network = loader, customization = loader } = times?.ends ?? {}
      const hasTools = run !== undefined && tools?.isOn === true && run.startedAt >= tools.from
      return {
        bootedAt: now >= loader ? loader : undefined,
        isUp: now >= customization,
        hasAddress: now >= network && hasAddress(vm),
        areToolsReachable: hasTools && times !== undefined && now >= times.toolsAt,
        system: systemOf(vm),
        isoExtId: vm.cdRoms?.some((drive) => holds(drive, toolsIso?.extId)) === true ? toolsIso?.extId : undefined,
      }
    },
    areToolsRunning(vmExtId) {
      const fact = vms.get(vmExtId)
      const times = fact && timesOf(fact)
      return times !== undefined && fact?.hasOwnTools === true && world.clock.now() >= times.toolsAt
    },
    ...toolsIsos(reached, change),
    ...toolsInGuests(world, reached, change),
  }
}

const toolsIsos = (
  reached: ExternalGuestParts['reached'],
  change: Change,
): Pick<ExternalGuests, 'ejectToolsIso' | 'insertToolsIso'> => ({
  async insertToolsIso(vmExtId, isoExtId, canAddDrive) {
    const fact = await reached(vmExtId)
    const drives = fact.vm.cdRoms ?? []
    if (drives.some((drive) => holds(drive, fact.toolsIso?.extId))) return fact.vm
    const backingInfo = { diskExtId: isoExtId }
    const empty = drives.findIndex((drive) => drive.backingInfo === undefined)
    if (empty >= 0) {
      const cdRoms = drives.map((drive, index) => (index === empty ? { ...drive, backingInfo } : drive))
      return change(fact, { vm: { ...fact.vm, cdRoms }, toolsIso: { extId: isoExtId } })
    }
    if (!canAddDrive) throw DriverError.final('the VM has no empty CD-ROM')
    const added = { extId: derivedId('drive', isoExtId), diskAddress: freeAddress(fact.vm), backingInfo }
    return change(fact, {
      vm: { ...fact.vm, cdRoms: [...drives, added] },
      toolsIso: { extId: isoExtId, addedDriveExtId: added.extId },
    })
  },
  async ejectToolsIso(vmExtId) {
    const { toolsIso, ...fact } = await reached(vmExtId)
    if (toolsIso === undefined) return fact.vm
    const drives = (fact.vm.cdRoms ?? []).flatMap((drive): CdRom[] => {
      if (!holds(drive, toolsIso.extId)) return [drive]
      const { backingInfo: _ejected, ...empty } = drive
      return drive.extId === toolsIso.addedDriveExtId ? [] : [empty]
    })
    const { cdRoms: _, ...vm } = fact.vm
    return change(fact, { vm: drives.length === 0 ? vm : { ...vm, cdRoms: drives } })
  },
})

const toolsInGuests = (
  { clock }: SimulatedWorld,
  reached: ExternalGuestParts['reached'],
  change: Change,
): Pick<ExternalGuests, 'copyTools' | 'removeTools' | 'revertTools' | 'setUpTools' | 'switchTools'> => ({
  async copyTools(vmExtId) {
    return (await reached(vmExtId)).refusesLogin === true ? 'refused' : 'copied'
  },
  async setUpTools(vmExtId, callKey) {
    const fact = await reached(vmExtId)
    if (fact.vm.powerState !== 'ON') throw DriverError.final('no guest runs that could have tools')
    if (fact.tools?.setUpBy === callKey) return systemOf(fact.vm)
    const { before: _, ...before } = fact.tools ?? {}
    await change(fact, {
      tools: {
        isOn: true,
        from: clock.now(),
        setUpBy: callKey,
        ...(fact.tools === undefined ? {} : { before: before as Omit<ToolsInGuest, 'before'> }),
      },
    })
    return systemOf(fact.vm)
  },
  async revertTools(vmExtId, callKey) {
    const { tools, ...fact } = await reached(vmExtId)
    if (tools?.setUpBy !== callKey) return
    await change(fact, tools.before === undefined ? {} : { tools: tools.before })
  },
  async switchTools(vmExtId, isOn) {
    const fact = await reached(vmExtId)
    if (fact.tools === undefined || fact.tools.isOn === isOn) return
    const from = isOn && fact.vm.powerState === 'ON' ? clock.now() : fact.tools.from
    await change(fact, { tools: { ...fact.tools, isOn, from } })
  },
  async removeTools(vmExtId) {
    const { tools: _, ...fact } = await reached(vmExtId)
    await change(fact, {})
  },
})

const holds = ({ backingInfo }: CdRom, isoExtId: string | undefined): boolean =>
  isoExtId !== undefined && backingInfo?.diskExtId === isoExtId

const isWindows = ({ guestOsName = '' }: OutsideVm): boolean => /windows/i.test(guestOsName)

const hasAddress = ({ nics = [] }: OutsideVm): boolean =>
  nics.some(({ backingInfo, networkInfo }) => {
    const { ipv4Addresses = [], ipv6Addresses = [] } = networkInfo?.ipAddressInfo ?? {}
    return backingInfo?.isConnected !== false && ipv4Addresses.length + ipv6Addresses.length > 0
  })

function systemOf(vm: OutsideVm): GuestSystem {
  const { name = 'guest', guestOsName: fullName = 'Other Linux (64-bit)' } = vm
  const host = name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return {
    version: `${isWindows(vm) ? 'windows' : 'linux'}:64:${fullName}`,
    fullName,
    buildNumber: isWindows(vm) ? '17763' : '4.18.0',
    dnsName: `${host.replace(/^-+|-+$/g, '') || 'guest'}.local`,
    virtIoVersion: '1.2.4',
  }
}

/** @throws DriverError, final, if no bus has a place for another drive */
function freeAddress({ cdRoms = [], disks = [] }: OutsideVm): NonNullable<CdRom['diskAddress']> {
  const taken = new Set([...cdRoms, ...disks].map(({ diskAddress: at }) => `${at?.busType} ${at?.index}`))
  for (const busType of ['IDE', 'SATA'] as const)
    for (let index = 0; index < buses[busType]; index++)
      if (!taken.has(`${busType} ${index}`)) return { busType, index }
  throw DriverError.final('the VM has no place for another CD-ROM drive')
}
