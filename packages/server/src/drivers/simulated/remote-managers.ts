/**
 * Simulated clusters and managers: `remotes.sides`, `remotes.faults`, `remotes.inventories` (clusters without a manager). Clusters that are
 * down do not answer here either. Source: behaviour platform.md 12, 13.
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
import { isDown } from './hardware-faults.ts'
import { remoteSites } from './remote-sites.ts'
import type { Collection, SimulatedWorld } from './world.ts'

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
  /** Ids of the managers with which it is registered. */
  readonly trusts: readonly string[]
}

export interface RemoteFaultFact {
  readonly isUnreachable?: boolean
  readonly hasWrongCertificate?: boolean
}

export const remoteSides = (world: SimulatedWorld) => world.collection<RemoteFact>('remotes.sides')
export const remoteInventories = (world: SimulatedWorld) =>
  world.collection<readonly InventoryRow[]>('remotes.inventories')

export const isRemoteSiteCutOff = (world: SimulatedWorld, extId: string): boolean =>
  world.collection<RemoteFaultFact>('remotes.faults').get(extId)?.isUnreachable === true || isDown(world, extId)

const digestOf = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex')
export const remotePasswordDigest = (extId: string, password: string): string => digestOf('remote', extId, password)
export const remoteCertificate = (extId: string): string => digestOf('certificate', extId)

type Side = readonly [extId: string, fact: RemoteFact]

class RemoteSides {
  readonly #sides: Collection<RemoteFact>
  readonly #faults: Collection<RemoteFaultFact>
  readonly #world: SimulatedWorld

  constructor(world: SimulatedWorld) {
    this.#sides = remoteSides(world)
    this.#faults = world.collection('remotes.faults')
    this.#world = world
  }

  at(address: string): Side | undefined {
    return [...this.#sides.all()].find(([, side]) => side.address === address)
  }

  /** @throws RemoteFault when nothing answers at this address */
  answering(address: string): Side {
    const side = this.at(address)
    if (side === undefined || isRemoteSiteCutOff(this.#world, side[0]))
      throw new RemoteFault('unreachable', `${address}: no answer within 10 s`)
    return side
  }

  presentedCertificate([extId, { certificate }]: Side): string {
    return this.#faults.get(extId)?.hasWrongCertificate === true ? digestOf('wrong', certificate) : certificate
  }

  /** @throws RemoteFault when the certificate is not the pinned one */
  trusted(place: RemotePlace): Side {
    const side = this.answering(place.address)
    if (this.presentedCertificate(side) !== place.certificate)
      throw new RemoteFault('certificate', `${place.address} shows another certificate than the trusted one`)
    return side
  }

  /** @throws RemoteFault when it does not trust the caller */
  trusting(place: RemotePlace, manager: { readonly extId: string }): Side {
    const side = this.trusted(place)
    if (!side[1].trusts.includes(manager.extId))
      throw new RemoteFault('authentication', `${place.address} does not trust this manager any more`)
    return side
  }

  signedIn(place: RemotePlace, { username, password }: Credentials): Side {
    const side = this.trusted(place)
    const [extId, fact] = side
    if (fact.username !== username || fact.passwordDigest !== remotePasswordDigest(extId, password))
      throw new RemoteFault('authentication', `${place.address} refused the credentials`)
    return side
  }

  async setTrust([extId, side]: Side, trusts: readonly string[]): Promise<void> {
    if (trusts.join() !== side.trusts.join()) await this.#sides.put(extId, { ...side, trusts })
  }
}

export function createSimulatedRemotes(world: SimulatedWorld): RemoteManagers {
  const sides = new RemoteSides(world)
  const inventories = remoteInventories(world)

  return {
    knows: (address) => sides.at(address) !== undefined,
    watch: (changed) => world.watch(['hardware.faults', 'remotes.faults', 'remotes.sides'], changed),

    async reach(address) {
      const side = sides.answering(address)
      const certificate = sides.presentedCertificate(side)
      if (certificate !== side[1].certificate)
        throw new RemoteFault('certificate', `the certificate of ${address} is for another name`)
      return { certificate, clock: world.clock.now() + (side[1].clockSkewSeconds ?? 0) * 1000 }
    },

    async identify(place, credentials, manager) {
      const [extId, { name, type, version, nodeAddresses, trusts, manager: config }] = sides.signedIn(
        place,
        credentials,
      )
      const elsewhere = trusts.some((id) => id !== manager.extId)
      return {
        extId,
        name,
        type,
        version,
        nodeAddresses,
        objections: type === 'AOS' && elsewhere ? ['it is registered with another manager'] : [],
        manager: config,
      }
    },

    async exchangeTrust(place, credentials, { extId }) {
      const side = sides.signedIn(place, credentials)
      await sides.setTrust(side, [...new Set([...side[1].trusts, extId])])
      return {}
    },

    async revokeTrust(place, _proof, manager) {
      const side = sides.trusted(place)
      await sides.setTrust(
        side,
        side[1].trusts.filter((id) => id !== manager.extId),
      )
    },

    async probe(place, _key, _remoteExtId, manager) {
      sides.trusting(place, manager)
    },

    async networkEntities(place, { manager }, sort) {
      const [extId] = sides.trusting(place, manager)
      const site = remoteSites(world).get(extId)
      return site === undefined ? [] : site.networks[sort]
    },

    inventory: async (clusterExtId) => inventories.get(clusterExtId) ?? [],

    async keepInventory(clusterExtId, rows) {
      if (rows === undefined) await inventories.remove(clusterExtId)
      else await inventories.put(clusterExtId, rows)
    },
  }
}
