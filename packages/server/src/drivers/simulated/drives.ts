/** Drives of simulated hosts, by drive in `hardware.drives`. Source: behaviour clustermgmt.md 1.8, 3 (Durations). */
import { derivedId } from '../../core/ids/named-id.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import {
  type Drive,
  type DriveFault,
  type Drives,
  type DriveTier,
  type Evacuation,
  type PartitionType,
  shareAt,
} from '../drives.ts'
import { type DriveHistory, isForgotten, staying, unpooled, withFilling, workNoted } from './drive-history.ts'
import type { RequireAnswer } from './hardware-faults.ts'
import { type SimulatedWorld, viewsByHost } from './world.ts'

export interface DriveFact extends DriveHistory {
  readonly hostExtId: string
  readonly slot: number
  readonly serialNumber: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly sizeBytes: number
  readonly tier: DriveTier
  readonly isBootDrive?: true
  readonly isInPool?: true
  readonly partition?: PartitionType
  /** `share`: that of the drive when the evacuation began. */
  readonly evacuation?: Evacuation & { readonly share: number }
  readonly fault?: { readonly kind: DriveFault; readonly since: number }
  readonly slowdown?: number
  readonly replacedBytes?: number
  readonly ledEngagedUntil?: number
}

export const driveFacts = (world: SimulatedWorld) => world.collection<DriveFact>('hardware.drives')
/** The drive that was last in a slot, by `<host>/<slot>`. */
const emptiedSlots = (world: SimulatedWorld) => world.collection<Pick<DriveFact, 'sizeBytes'>>('hardware.emptied-slots')

export const bytesPulledFrom = (world: SimulatedWorld, hostExtId: string, slot: number): number | undefined =>
  emptiedSlots(world).get(`${hostExtId}/${slot}`)?.sizeBytes

/** Drives that have left the world, for statistics of the past. */
export const formerDrives = (world: SimulatedWorld) => world.collection<DriveFact>('hardware.former-drives')

export const slotsOfHost = 24
const bytesPerSecondOfDrive = 250 * 1024 ** 2
const bytesPerSecondOfHost = 800 * 1024 ** 2
const reportEveryMillis = 10_000
/** Resolution of the clock. */
const clockMillis = 0.001
const ledMillis = 24 * 60 * 60 * 1000

/** The catalogue of simulated drives, by tier. */
const models = {
  SSD_PCIE: { vendor: 'Samsung', model: 'MZWLR3T8HBLS', firmwareVersion: 'MPK93B5Q' },
  SSD_SATA: { vendor: 'Intel', model: 'SSDSC2KG019TZ', firmwareVersion: 'XCV10132' },
  DAS_SATA: { vendor: 'Seagate', model: 'ST4000NM002A', firmwareVersion: 'SN05' },
  SSD_MEM_NVME: { vendor: 'Intel', model: 'SSDPE21K750GA', firmwareVersion: 'E2010650' },
} as const

export interface NewDrive {
  readonly tier: DriveTier
  readonly sizeBytes: number
}

/** @param extId decides the serial number */
export const newDrive = (extId: string, hostExtId: string, slot: number, drive: NewDrive): DriveFact => ({
  hostExtId,
  slot,
  serialNumber: `SN${extId.replaceAll('-', '').slice(0, 12).toUpperCase()}`,
  ...models[drive.tier],
  sizeBytes: drive.sizeBytes,
  tier: drive.tier,
})

/** In the slots of a new node, outside pools; the first has the boot partition. */
export const drivesFor = (
  hostExtId: string,
  drives: readonly NewDrive[],
  idOf = (index: number): string => derivedId('drive', hostExtId, index),
): ReadonlyMap<string, DriveFact> =>
  new Map(
    drives.map((drive, index) => {
      const fact = newDrive(idOf(index), hostExtId, index + 1, drive)
      return [idOf(index), index === 0 ? { ...fact, isBootDrive: true } : fact]
    }),
  )

export const drivesIn = viewsByHost('hardware.drives', (facts: ReadonlyMap<string, DriveFact>) =>
  [...facts].map(([extId, fact]) => driveOf(extId, fact)).sort((a, b) => a.slot - b.slot),
)

function driveOf(extId: string, fact: DriveFact): Drive {
  const { partition: _, outages: __, slowTimes: ___, evacuation, ...shown } = fact
  return {
    slowdown: 1,
    ...shown,
    extId,
    isBootDrive: fact.isBootDrive === true,
    isInPool: fact.isInPool === true,
    isLeaving: evacuation !== undefined,
  }
}

export function createDrives(world: SimulatedWorld, isInstant: boolean, requireAnswer: RequireAnswer): Drives {
  const facts = driveFacts(world)
  const { clock } = world
  const present = (clusterExtId: string, driveExtId: string, call: string, usesHost = false): DriveFact => {
    requireAnswer(clusterExtId, call)
    const fact = facts.get(driveExtId)
    if (fact === undefined || (usesHost && fact.fault?.kind === 'PULLED'))
      throw DriverError.final(`${call}: no drive ${driveExtId}`)
    if (usesHost) requireAnswer(fact.hostExtId, call)
    return fact
  }
  return {
    ...createEvacuations(world, isInstant, present),
    ...createHostPools(world, requireAnswer),
    drivesOf: (hostExtId) => drivesIn(world, hostExtId),

    async partitionDrive(clusterExtId, driveExtId, partition) {
      const fact = present(clusterExtId, driveExtId, 'partitionDrive', true)
      if (fact.isInPool !== true) await facts.put(driveExtId, { ...fact, partition })
    },

    async poolDrive(clusterExtId, driveExtId, bytes) {
      const fact = present(clusterExtId, driveExtId, 'poolDrive', true)
      if (fact.isInPool === true) return
      const until = clock.now() + (isInstant ? 0 : Math.ceil((1000 * bytes) / bytesPerSecondOfDrive))
      const filling = { from: 0, to: 1, since: clock.now(), until }
      await facts.put(driveExtId, withFilling({ ...workNoted(fact, true, clock.now()), isInPool: true }, filling))
    },

    async unpoolDrive(clusterExtId, driveExtId) {
      if (facts.get(driveExtId)?.isInPool !== true) return
      await unpool(world, new Map([[driveExtId, present(clusterExtId, driveExtId, 'unpoolDrive')]]))
    },

    async setDriveLed(clusterExtId, driveExtId, isEngaged) {
      const { ledEngagedUntil: _, ...fact } = present(clusterExtId, driveExtId, 'setDriveLed', true)
      await facts.put(driveExtId, isEngaged ? { ...fact, ledEngagedUntil: clock.now() + ledMillis } : fact)
    },
  }
}

type Present = (clusterExtId: string, driveExtId: string, call: string) => DriveFact

function createEvacuations(
  world: SimulatedWorld,
  isInstant: boolean,
  present: Present,
): Pick<Drives, 'evacuateDrive' | 'stopEvacuation'> {
  const facts = driveFacts(world)
  const { clock } = world
  return {
    async evacuateDrive(clusterExtId, driveExtId, { bytes, bytesPerSecond }, report) {
      const evacuating = present(clusterExtId, driveExtId, 'evacuateDrive')
      if (evacuating.evacuation === undefined) {
        const share = shareAt(evacuating, clock.now())
        const evacuation = { bytes: isInstant ? 0 : bytes, share, ...(bytesPerSecond && { bytesPerSecond }) }
        await shareBandwidth(world, evacuating.hostExtId, [driveExtId, { ...evacuating, evacuation }])
      }
      for (;;) {
        const fact = present(clusterExtId, driveExtId, 'evacuateDrive')
        const left = (fact.fillings?.at(-1)?.until ?? 0) - clock.now()
        const { share } = fact.evacuation ?? { share: 0 }
        const isOver = left < clockMillis
        await report(isOver || share === 0 ? 1 : 1 - shareAt(fact, clock.now()) / share)
        if (isOver) return shareBandwidth(world, fact.hostExtId)
        await clock.sleep(Math.min(left, reportEveryMillis))
      }
    },

    async stopEvacuation(clusterExtId, driveExtId) {
      if (facts.get(driveExtId)?.evacuation === undefined) return
      const { evacuation: _, ...fact } = present(clusterExtId, driveExtId, 'stopEvacuation')
      await shareBandwidth(world, fact.hostExtId, [driveExtId, staying(fact, clock.now())])
    },
  }
}

/** Each drive of the host whose data moves gets its part of the bandwidth, from now on; `changed` is written with them. */
async function shareBandwidth(
  world: SimulatedWorld,
  hostExtId: string,
  ...changed: readonly (readonly [string, DriveFact])[]
): Promise<void> {
  const now = world.clock.now()
  const moving = [...new Map([...driveFacts(world).all(), ...changed])].filter(
    ([, fact]) => fact.hostExtId === hostExtId && fact.evacuation !== undefined && shareAt(fact, now) > 0,
  )
  const defaultRate = Math.min(bytesPerSecondOfDrive, bytesPerSecondOfHost / moving.length)
  const planned = moving.map(([extId, fact]): [string, DriveFact] => {
    const { bytes, share, bytesPerSecond = defaultRate } = fact.evacuation as NonNullable<DriveFact['evacuation']>
    const from = shareAt(fact, now)
    const until = now + Math.ceil((1000 * bytes * (from / share)) / bytesPerSecond)
    return [extId, withFilling(fact, { from, to: 0, since: now, until })]
  })
  if (changed.length + planned.length > 0) await driveFacts(world).putAll(new Map([...changed, ...planned]))
}

function createHostPools(
  world: SimulatedWorld,
  requireAnswer: RequireAnswer,
): Pick<Drives, 'poolDrivesOf' | 'unpoolDrivesOf'> {
  const facts = driveFacts(world)
  const drivesWhere = (fits: (fact: DriveFact) => boolean): Map<string, DriveFact> =>
    new Map([...facts.all()].filter(([, fact]) => fits(fact)))
  return {
    async poolDrivesOf(clusterExtId, hostExtId) {
      requireAnswer(clusterExtId, 'poolDrivesOf')
      const outside = drivesWhere((fact) => fact.hostExtId === hostExtId && fact.isInPool !== true && !fact.fault)
      const now = world.clock.now()
      const full = { from: 1, to: 1, since: now, until: now }
      const noted = [...outside].map(([extId, fact]) => [extId, withFilling(workNoted(fact, true, now), full)] as const)
      if (outside.size > 0) await facts.putAll(pooled(new Map(noted)))
    },

    async unpoolDrivesOf(clusterExtId, hostExtId) {
      requireAnswer(clusterExtId, 'unpoolDrivesOf')
      await unpool(
        world,
        drivesWhere((fact) => fact.hostExtId === hostExtId && fact.isInPool === true),
      )
    },
  }
}

export const pooled = (drives: ReadonlyMap<string, DriveFact>): ReadonlyMap<string, DriveFact> =>
  new Map([...drives].map(([extId, fact]) => [extId, { ...fact, isInPool: true, partition: 'EXT4' }]))

/** A drive that has worked stays among the former drives while statistics can show it. */
export async function removeDrives(world: SimulatedWorld, drives: ReadonlyMap<string, DriveFact>): Promise<void> {
  const former = [...formerDrives(world).all(), ...[...drives].filter(([, { outages }]) => outages !== undefined)]
  const now = world.clock.now()
  await emptiedSlots(world).putAll(
    new Map([...drives.values()].map(({ hostExtId, slot, sizeBytes }) => [`${hostExtId}/${slot}`, { sizeBytes }])),
  )
  // After a crash the drives are in both collections, until the call is repeated.
  await formerDrives(world).putAll(
    new Map(former.map(([extId, fact]) => [extId, isForgotten(fact, now) ? undefined : fact])),
  )
  await driveFacts(world).putAll(new Map([...drives.keys()].map((extId) => [extId, undefined])))
}

/** Drives stay in their slots, empty. */
async function unpool(world: SimulatedWorld, drives: ReadonlyMap<string, DriveFact>): Promise<void> {
  const now = world.clock.now()
  const [pulled, kept] = [new Map<string, DriveFact>(), new Map<string, DriveFact>()]
  for (const [extId, { isInPool: _, partition: __, evacuation: ___, ...fact }] of drives)
    (fact.fault?.kind === 'PULLED' ? pulled : kept).set(extId, unpooled(fact, now))
  if (kept.size > 0) await driveFacts(world).putAll(kept)
  if (pulled.size > 0) await removeDrives(world, pulled)
}
