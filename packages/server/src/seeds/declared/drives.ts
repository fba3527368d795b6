/** Drives of hosts that a seed describes. */
import type { DriveTier } from '../../drivers/drives.ts'
import { type NewDrive, slotsOfHost } from '../../drivers/simulated/drives.ts'
import type { DeclaredCluster } from '../format.ts'
import type { Filling } from './filling.ts'

const sizes: Readonly<Record<DriveTier, number>> = {
  SSD_PCIE: 3.84e12,
  SSD_SATA: 1.92e12,
  DAS_SATA: 4e12,
  SSD_MEM_NVME: 750e9,
}

/** @throws SeedRefusal for more drives than a host has slots */
export function drivesOf(
  filling: Filling,
  declared: DeclaredCluster['hostDrives'],
  path: string,
  otherwise?: readonly NewDrive[],
): { readonly drives?: readonly NewDrive[] } {
  if (declared === undefined) return otherwise === undefined ? {} : { drives: otherwise }
  const drives = declared.flatMap(({ tier, count = 1, sizeBytes = sizes[tier] }) =>
    Array.from({ length: count }, (): NewDrive => ({ tier, sizeBytes })),
  )
  if (drives.length > slotsOfHost)
    filling.refuse(path, `expected at most ${slotsOfHost} drives, one for each slot, found ${drives.length}`)
  return { drives }
}
