/** Ids of the demo's clusters, and how tests reach below the interface of clustermgmt. */

import { randomUUID } from 'node:crypto'
import { seedId } from '../../src/core/ids/named-id.ts'
import type { HardwareFault } from '../../src/drivers/simulated/hardware-faults.ts'
import type { CallResult, TestApp } from './start-app.ts'

export const clustermgmt = '/clustermgmt/v4.2/config'

export const ids = {
  native: seedId('cluster/hp-native-01'),
  extern: seedId('cluster/hp-extern-01'),
  cloud: seedId('cluster/cloud-1'),
  manager: seedId('manager'),
  baseline: seedId('cluster-profile/baseline'),
} as const

export const hostId = (name: string): string => seedId(`host/${name}`)
export const requestId = (): string => randomUUID()

/** Sets the fault of a cluster or host; none by default. */
export async function setFault(app: TestApp, id: string, fault: HardwareFault = {}): Promise<void> {
  await app.world.collection<HardwareFault>('hardware.faults').put(id, fault)
}

/** Advances the world's time and waits until the monitors have written their findings. */
export async function advance(app: TestApp, minutes: number): Promise<void> {
  await app.clock.advance(minutes * 60_000)
  // Monitors write one transaction per entity in sequence; each turn lets one of them commit.
  for (let turn = 0; turn < 50; turn++) await app.store.transaction(async () => undefined)
}

/** PUT with the entity tag of a fresh GET. */
export async function putFresh(app: TestApp, path: string, body: unknown): Promise<CallResult> {
  const { etag } = await app.call('GET', path)
  return app.call('PUT', path, { body, ifMatch: etag as string, requestId: requestId() })
}
