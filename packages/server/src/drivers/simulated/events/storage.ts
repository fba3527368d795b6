/** Containers that fill up or stall. Source: behaviour clustermgmt.md 3; vmm.md 1.1, 3.4. */
import type { ContainerFact } from '../hardware.ts'
import { fullFacts, stallFacts } from '../hypervisor/facts.ts'
import type { SimulatedWorld } from '../world.ts'
import { setFact, type Target } from './event.ts'

/** @returns bytes written by other clients; undefined if the container was `percent` full already */
export async function fillContainer(
  world: SimulatedWorld,
  container: Target,
  { capacityBytes, freeBytes }: { readonly capacityBytes: number; readonly freeBytes: number },
  percent: number,
): Promise<number | undefined> {
  const leftFree = Math.floor((capacityBytes * (100 - percent)) / 100)
  const bytes = Math.max(0, freeBytes - leftFree)
  const isFull = percent === 100
  const isNewlyFull = isFull && fullFacts(world).get(container.extId) === undefined
  if (bytes === 0 && !isNewlyFull) return undefined
  const containers = world.collection<ContainerFact>('hardware.containers')
  const known: ContainerFact = containers.get(container.extId) ?? {
    extId: container.extId,
    clusterExtId: container.clusterExtId ?? '',
    name: container.name,
    policy: {},
  }
  if (isNewlyFull) await fullFacts(world).put(container.extId, { since: world.clock.now() })
  if (bytes > 0) await containers.put(container.extId, { ...known, files: [...(known.files ?? []), bytes] })
  return bytes
}

/** @returns bytes deleted by other clients; undefined if there were none */
export async function freeContainer(world: SimulatedWorld, containerExtId: string): Promise<number | undefined> {
  const containers = world.collection<ContainerFact>('hardware.containers')
  const { files = [], ...emptied } = containers.get(containerExtId) ?? {}
  if (files.length > 0) await containers.put(containerExtId, emptied as ContainerFact)
  await fullFacts(world).remove(containerExtId)
  if (files.length === 0) return undefined
  return files.reduce((sum, bytes) => sum + bytes, 0)
}

export async function setStall(world: SimulatedWorld, containerExtId: string, isStalled: boolean): Promise<boolean> {
  const stalls = stallFacts(world)
  return setFact(
    stalls,
    containerExtId,
    isStalled ? (stalls.get(containerExtId) ?? { since: world.clock.now() }) : undefined,
  )
}
