/** Drives that fail, slow down, and are pulled and inserted. Source: behaviour clustermgmt.md 1.8, 3 (Faults). */
import { derivedId } from '../../../core/ids/named-id.ts'
import type { DriveFault, DriveTier } from '../../drives.ts'
import { workNoted } from '../drive-history.ts'
import {
  bytesPulledFrom,
  type DriveFact,
  driveFacts,
  drivesIn,
  newDrive,
  removeDrives,
  slotsOfHost,
} from '../drives.ts'
import { withSlowness } from '../past-times.ts'
import type { SimulatedWorld } from '../world.ts'
import { CannotHappen, type Target } from './event.ts'

const factOf = (world: SimulatedWorld, { extId, name }: Target): DriveFact => {
  const fact = driveFacts(world).get(extId)
  if (fact === undefined) throw new CannotHappen(`The disk ${name} is in no host any more.`)
  return fact
}

/** @throws CannotHappen for a drive that is out of its slot */
export async function failDrive(
  world: SimulatedWorld,
  disk: Target,
  kind: Exclude<DriveFault, 'PULLED'>,
): Promise<boolean> {
  const fact = inSlot(factOf(world, disk), disk)
  if (fact.fault?.kind === kind || fact.fault?.kind === 'BROKEN') return false
  const now = world.clock.now()
  await driveFacts(world).put(disk.extId, { ...withWork(fact, false, now), fault: { kind, since: now } })
  return true
}

/** An offline drive works again, with its data. */
export async function returnDrive(world: SimulatedWorld, disk: Target): Promise<boolean> {
  const { fault, ...fact } = factOf(world, disk)
  if (fault?.kind !== 'OFFLINE') return false
  await driveFacts(world).put(disk.extId, withWork(fact, true, world.clock.now()))
  return true
}

const withWork = (fact: DriveFact, works: boolean, now: number): DriveFact =>
  fact.isInPool === true ? workNoted(fact, works, now) : fact

export async function setDriveSlowness(world: SimulatedWorld, disk: Target, factor: number): Promise<boolean> {
  const { slowdown = 1, ...fact } = factOf(world, disk)
  if (slowdown === factor) return false
  const slowTimes = withSlowness(fact.slowTimes ?? [], factor, world.clock.now())
  await driveFacts(world).put(disk.extId, { ...fact, slowTimes, ...(factor !== 1 && { slowdown: factor }) })
  return true
}

/** The pool keeps the drive until a client removes it. @throws CannotHappen for one that is out already */
export async function pullDrive(world: SimulatedWorld, disk: Target): Promise<void> {
  const fact = inSlot(factOf(world, disk), disk)
  const fault = { kind: 'PULLED', since: fact.fault?.since ?? world.clock.now() } as const
  if (fact.isInPool !== true) return removeDrives(world, new Map([[disk.extId, fact]]))
  await driveFacts(world).put(disk.extId, { ...withWork(fact, false, world.clock.now()), fault })
}

/** @returns the serial number of the new drive, in the slot but not in the pool; undefined: the old one works */
export async function replaceDrive(world: SimulatedWorld, disk: Target): Promise<string | undefined> {
  const old = factOf(world, disk)
  if (old.isInPool === true && old.fault === undefined) return undefined
  const extId = derivedId('drive', disk.extId, 'successor')
  const drive: DriveFact = {
    ...newDrive(extId, old.hostExtId, old.slot, old),
    replacedBytes: old.sizeBytes,
    ...(old.isBootDrive && { isBootDrive: old.isBootDrive }),
  }
  requireFreeSlot(world, old)
  if (old.fault?.kind !== 'PULLED') await pullDrive(world, disk)
  await driveFacts(world).put(extId, drive)
  return drive.serialNumber
}

/** @returns the serial number. @throws CannotHappen when no slot is free */
export async function insertDrive(
  world: SimulatedWorld,
  host: Target,
  wanted: { readonly tier?: DriveTier | undefined; readonly sizeBytes?: number | undefined },
): Promise<string> {
  const drives = drivesIn(world, host.extId)
  const taken = new Set(drives.filter(({ fault }) => fault?.kind !== 'PULLED').map(({ slot }) => slot))
  const slot = Array.from({ length: slotsOfHost }, (_, index) => index + 1).find((each) => !taken.has(each))
  if (slot === undefined) throw new CannotHappen(`All ${slotsOfHost} slots of the host ${host.name} have a drive.`)
  const replacedBytes =
    drives.find((drive) => drive.slot === slot)?.sizeBytes ?? bytesPulledFrom(world, host.extId, slot)
  const alike = drives.findLast(({ tier }) => wanted.tier === undefined || tier === wanted.tier)
  const tier = wanted.tier ?? alike?.tier ?? 'SSD_SATA'
  const sizeBytes = wanted.sizeBytes ?? alike?.sizeBytes ?? 1.92e12
  const extId = derivedId('drive', host.extId, slot, tier, sizeBytes, world.clock.now())
  const drive = newDrive(extId, host.extId, slot, { tier, sizeBytes })
  await driveFacts(world).put(extId, replacedBytes === undefined ? drive : { ...drive, replacedBytes })
  return drive.serialNumber
}

function inSlot(fact: DriveFact, { name }: Target): DriveFact {
  if (fact.fault?.kind === 'PULLED') throw new CannotHappen(`The disk ${name} is out of its slot.`)
  return fact
}

function requireFreeSlot(world: SimulatedWorld, { hostExtId, slot, serialNumber, fault }: DriveFact): void {
  if (fault?.kind !== 'PULLED') return
  const other = drivesIn(world, hostExtId).find((drive) => drive.slot === slot && drive.fault?.kind !== 'PULLED')
  if (other !== undefined)
    throw new CannotHappen(`The disk ${other.serialNumber} is in the slot of ${serialNumber} already.`)
}
