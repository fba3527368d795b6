/**
 * Clusters and managers of the world that may be registered. The facts, by collection: `remotes.sides` who they are and
 * whom they trust, `remotes.faults` what is wrong with them now, `remotes.inventories` what clusters hold that no manager
 * keeps. A cluster that is cut off (`hardware.faults`) does not answer here either.
 * Source: behaviour platform.md 12, 13.
 */
import { createHash } from 'node:crypto'
import {
  type Credentials,
  type InventoryRow,
  RemoteFault,
  type RemoteManagerConfig,
  type RemoteManagers,
  type RemotePlace,
  type RemoteType,
} from '../remote-managers.ts'
import type { HardwareFault } from './hardware.ts'
import type { SimulatedWorld } from './world.ts'

export interface RemoteFact {
  readonly name: string
  readonly type: RemoteType
  readonly address: string
  readonly username: string
  readonly passwordDigest: string
  readonly version: string
  readonly nodeAddresses: readonly string[]
  readonly certificate: string
  readonly clockSkewSeconds?: number
  readonly manager?: RemoteManagerConfig
  /** Ids of the managers that it is registered with. */
  readonly trusts: readonly string[]
}

export interface RemoteFaultFact {
  readonly isUnreachable?: boolean
  /** Shows a certificate that is not its own. */
  readonly hasWrongCertificate?: boolean
}

export const remoteSides = (world: SimulatedWorld) => world.collection<RemoteFact>('remotes.sides')
export const remoteInventories = (world: SimulatedWorld) =>
  world.collection<readonly InventoryRow[]>('remotes.inventories')

const digestOf = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex')
export const remotePasswordDigest = (extId: string, password: string): string => digestOf('remote', extId, password)
export const remoteCertificate = (extId: string): string => digestOf('certificate', extId)

export function createSimulatedRemotes(world: SimulatedWorld): RemoteManagers {
  const sides = remoteSides(world)
  const inventories = remoteInventories(world)
  const faults = world.collection<RemoteFaultFact>('remotes.faults')
  const hardwareFaults = world.collection<HardwareFault>('hardware.faults')

  const at = (address: string): readonly [string, RemoteFact] | undefined =>
    [...sides.all()].find(([, side]) => side.address === address)

  const answering = (address: string): readonly [string, RemoteFact] => {
    const found = at(address)
    const isCutOff =
      found !== undefined &&
      (faults.get(found[0])?.isUnreachable === true || hardwareFaults.get(found[0])?.isDown === true)
    if (found === undefined || isCutOff) throw new RemoteFault('unreachable', `${address}: no answer within 10 s`)
    return found
  }
  const shownCertificate = ([extId, { certificate }]: readonly [string, RemoteFact]): string =>
    faults.get(extId)?.hasWrongCertificate === true ? digestOf('wrong', certificate) : certificate
  const trusted = (place: RemotePlace): readonly [string, RemoteFact] => {
    const found = answering(place.address)
    if (shownCertificate(found) !== place.certificate)
      throw new RemoteFault('certificate', `${place.address} shows another certificate than the trusted one`)
    return found
  }
  const signedIn = (place: RemotePlace, { username, password }: Credentials): readonly [string, RemoteFact] => {
    const found = trusted(place)
    const [extId, side] = found
    if (side.username !== username || side.passwordDigest !== remotePasswordDigest(extId, password))
      throw new RemoteFault('authentication', `${place.address} refused the credentials`)
    return found
  }
  const setTrust = async ([extId, side]: readonly [string, RemoteFact], trusts: readonly string[]): Promise<void> => {
    if (trusts.join() !== side.trusts.join()) await sides.put(extId, { ...side, trusts })
  }

  return {
    knows: (address) => at(address) !== undefined,
    watch: (changed) => world.watch(['hardware.faults', 'remotes.faults', 'remotes.sides'], changed),

    async reach(address) {
      const found = answering(address)
      const certificate = shownCertificate(found)
      if (certificate !== found[1].certificate)
        throw new RemoteFault('certificate', `the certificate of ${address} is for another name`)
      return { certificate, clock: world.clock.now() + (found[1].clockSkewSeconds ?? 0) * 1000 }
    },

    async identify(place, credentials, manager) {
      const [extId, { name, type, version, nodeAddresses, trusts, manager: config }] = signedIn(place, credentials)
      const elsewhere = trusts.some((id) => id !== manager.extId)
      return {
        extId,
        name,
        type,
        version,
        nodeAddresses,
        objections: type === 'AOS' && elsewhere ? ['it is registered with another manager'] : [],
        ...(config === undefined ? {} : { manager: config }),
      }
    },

    async exchangeTrust(place, credentials, { extId }) {
      const found = signedIn(place, credentials)
      await setTrust(found, [...new Set([...found[1].trusts, extId])])
      return {}
    },

    async revokeTrust(place, _proof, manager) {
      const found = trusted(place)
      await setTrust(
        found,
        found[1].trusts.filter((id) => id !== manager.extId),
      )
    },

    async probe(place, _key, _remoteExtId, manager) {
      const [, { trusts }] = trusted(place)
      if (!trusts.includes(manager.extId))
        throw new RemoteFault('authentication', `${place.address} does not trust this manager any more`)
    },

    inventory: async (clusterExtId) => inventories.get(clusterExtId) ?? [],

    async keepInventory(clusterExtId, rows) {
      if (rows === undefined) await inventories.remove(clusterExtId)
      else await inventories.put(clusterExtId, rows)
    },
  }
}
