/** Faults of external services. Source: behaviour iam.md 11; platform.md 12; vmm.md 3.6, 3.8. */
import type { placeFaults } from '@hyperplane/contract/control/world-happening'
import { defined } from '../../../core/defined.ts'
import type { AuthorityFact } from '../authority.ts'
import { type ServerFault, serverState } from '../content/urls.ts'
import type { DirectoryHost } from '../directory.ts'
import { setRepositoryState } from '../hypervisor/hydration.ts'
import type { Bucket, ClusterDoor, PlaceFault, S3Service } from '../place-doors.ts'
import type { WebFaultFact } from '../web.ts'
import type { SimulatedWorld } from '../world.ts'
import { CannotHappen, setFact, type Target } from './event.ts'

const directoryFaults = { DOWN: 'down', SLOW: 'slow', TLS: 'tls', WRONG_BIND: 'wrongBind' } as const satisfies Record<
  string,
  DirectoryHost['fault']
>

/** @returns the servers whose state changed */
export async function setDirectoryFault(
  world: SimulatedWorld,
  { name, servers = [] }: Target,
  fault: keyof typeof directoryFaults | undefined,
): Promise<readonly string[]> {
  if (servers.length === 0)
    throw new CannotHappen(
      `No server of the directory "${name}" is simulated: their host names do not end in .simulated.`,
    )
  const hosts = world.collection<DirectoryHost>('directory.hosts')
  const wanted = fault === undefined ? undefined : directoryFaults[fault]
  const changed = servers.filter((host) => hosts.get(host)?.fault !== wanted)
  for (const host of changed) {
    const { fault: _, ...well } = hosts.get(host) ?? {}
    await hosts.put(host, wanted === undefined ? well : { ...well, fault: wanted })
  }
  return changed
}

const faultsOfPlaces = {
  ACCESS_DENIED: 'accessDenied',
  BIT_FLIP: 'bitFlip',
  FULL: 'full',
  LOSES_COMPLETE: 'losesComplete',
  SLOW: 'slow',
  SLOW_DOWN: 'slowDown',
  TORN_UPLOAD: 'tornUpload',
  UNREACHABLE: 'unreachable',
} as const satisfies Record<(typeof placeFaults)[number], PlaceFault>

export const placeCollections = ['objectStore.services', 'objectStore.buckets', 'objectStore.clusters'] as const

/** @throws CannotHappen for a fault other than UNREACHABLE without a bucket */
export async function setPlaceFault(
  world: SimulatedWorld,
  { extId, name }: Target,
  fault: (typeof placeFaults)[number] | undefined,
  afterUploads?: number,
): Promise<boolean> {
  const found = placeCollections.find((collection) => world.collection(collection).get(extId) !== undefined)
  if (found === undefined) throw new CannotHappen(`There is no place of backups "${name}" any more.`)
  const places = world.collection<S3Service | Bucket | ClusterDoor>(found)
  const { fault: before, faultAfterUploads: beforeUploads, ...well } = places.get(extId) as Bucket
  const wanted = fault === undefined ? undefined : faultsOfPlaces[fault]
  if (
    found === 'objectStore.services' &&
    wanted !== undefined &&
    (wanted !== 'unreachable' || afterUploads !== undefined)
  )
    throw new CannotHappen(
      `"${name}" is a whole service, which can only be UNREACHABLE, at once: name one of its buckets for ${fault}.`,
      'fault',
    )
  if (before === wanted && beforeUploads === afterUploads) return false
  const uploads = wanted === undefined || afterUploads === undefined ? {} : { faultAfterUploads: afterUploads }
  await places.put(extId, wanted === undefined ? well : ({ ...well, fault: wanted, ...uploads } as Bucket))
  return true
}

export async function setWebFault(
  world: SimulatedWorld,
  host: string,
  fault: 'DOWN' | 'SILENT' | 'STATUS' | undefined,
  status?: number,
): Promise<boolean> {
  if (status !== undefined && fault !== 'STATUS')
    throw new CannotHappen(
      `A server that is ${fault} answers nothing: give the status ${status} with the fault STATUS.`,
      'status',
    )
  const kind = fault?.toLowerCase() as WebFaultFact['kind'] | undefined
  return setFact(world.collection<WebFaultFact>('web.faults'), host, kind && defined({ kind, status }))
}

const authorityFaults = {
  EXPIRED: 'expired',
  TRY_LATER: 'tryLater',
  WRONG_SIGNER: 'wrongSigner',
} as const satisfies Record<string, AuthorityFact['fault']>

export async function setAuthorityFault(
  world: SimulatedWorld,
  { extId, name }: Target,
  fault: keyof typeof authorityFaults | undefined,
): Promise<boolean> {
  const authorities = world.collection<AuthorityFact>('web.authorities')
  const authority = authorities.get(extId)
  if (authority === undefined) throw new CannotHappen(`There is no certificate authority "${name}" any more.`)
  const { fault: before, ...well } = authority
  const wanted = fault === undefined ? undefined : authorityFaults[fault]
  if (before === wanted) return false
  await authorities.put(extId, wanted === undefined ? well : { ...well, fault: wanted })
  return true
}

const contentFaults = {
  CORRUPT: 'corrupt',
  CUT: 'cut',
  DOWN: 'down',
  LOGIN: 'login',
  SLOW: 'slow',
  STATUS: 'status',
  UNTRUSTED: 'untrusted',
} as const

/** A status alone means STATUS. @throws CannotHappen for another fault with a status, and for STATUS without one */
export function contentFault(fault: keyof typeof contentFaults, status: number | undefined): ServerFault {
  if (status !== undefined && (fault === 'DOWN' || fault === 'STATUS')) return { kind: 'status', status }
  if (status !== undefined) throw new CannotHappen(`${fault} has no status: give a status with STATUS.`, 'status')
  if (fault === 'STATUS') throw new CannotHappen('STATUS needs the status that the server answers.', 'status')
  return { kind: contentFaults[fault] }
}

export async function setContentFault(
  world: SimulatedWorld,
  host: string,
  fault: ServerFault | undefined,
): Promise<boolean> {
  if (!(await setFact(world.collection<ServerFault>('content.faults'), host, fault))) return false
  // Disks may read their content from the same host.
  await setRepositoryState(world, host, serverState(world, host))
  return true
}
