/** Prefixes of VPCs on one subnet may overlap only if the controller allows it. Source: networking.md 1.5, 1.20. */
import type { EntityOf } from '@hyperplane/contract'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { formatPrefix, overlap, type Prefix } from '../../core/ip-address.ts'
import type { Reader } from '../../store/store.ts'
import { prefixOfSubnet } from './ip-subnet.ts'

type VpcEntity = EntityOf<typeof Vpc>

export interface Clash {
  readonly prefix: string
  readonly vpc: VpcEntity
}

/** Prefixes that overlap those of another VPC on the same external subnet. */
export async function clashesOf(store: Reader, vpc: VpcEntity): Promise<readonly Clash[]> {
  const own = prefixesOf(vpc)
  if (own.length === 0) return []
  const clashes: Clash[] = []
  for (const other of await neighboursOf(store, vpc)) {
    for (const prefix of own) {
      const isTaken = prefixesOf(other).some((taken) => taken.family === prefix.family && overlap(taken, prefix))
      if (isTaken) clashes.push({ prefix: formatPrefix(prefix), vpc: other })
    }
  }
  return clashes
}

async function neighboursOf(store: Reader, vpc: VpcEntity): Promise<readonly VpcEntity[]> {
  const attached = await store.getMany(
    Subnet,
    (vpc.externalSubnets ?? []).map((each) => each.subnetReference),
  )
  const neighbours = new Map<string, VpcEntity>()
  for (const { extId } of attached.filter(({ isNatEnabled }) => isNatEnabled !== true)) {
    for (const other of await store.find(Vpc, { refersTo: { kind: Subnet.kind, extId } })) {
      if (other.extId !== vpc.extId) neighbours.set(other.extId, other)
    }
  }
  return [...neighbours.values()]
}

/** Includes prefixes that a running update will add. */
const prefixesOf = ({ externallyRoutablePrefixes = [], change }: VpcEntity): Prefix[] =>
  [...externallyRoutablePrefixes, ...(change?.externallyRoutablePrefixes ?? [])].map(prefixOfSubnet)
