/** The request leases router port addresses, so that no two routers share one. Source: networking.md 1.3, 1.5. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { type Address, readAddress, textOf, writeAddress, writeAsGiven } from '../../core/ip-address.ts'
import type { Transaction } from '../../store/store.ts'
import { families, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { type Lease, leaseAddress, leaseExactly, leasesOf, release, textOfLease } from '../addressing/leases.ts'
import type { WriteContext } from '../context.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import { type Attachment, gatewayNodesFor, portsByHost, schedulableHosts, type VpcEntity } from './gateway-nodes.ts'
import { invalidField } from './ip-config.ts'
import { attachedFaults, type VpcBody } from './vpc-rules.ts'

interface Attaching {
  readonly given: Attachment
  readonly subnet: SubnetEntity
}

/** @throws ApiError 400 for unsuitable subnets and hosts, 404 for missing hosts, 503 while a cluster is unreachable */
export async function attachingOf(ctx: WriteContext, vpcExtId: string, body: VpcBody): Promise<readonly Attaching[]> {
  const given = body.externalSubnets ?? []
  const subnets = await ctx.store.getMany(
    Subnet,
    given.map((each) => each.subnetReference),
  )
  refuseAll(attachedFaults(body.vpcType, vpcExtId, subnets))
  const attaching = given.map((each, index) => ({ given: each, subnet: subnets[index] as SubnetEntity }))
  for (const [index, { given, subnet }] of attaching.entries()) {
    await requireNodes(ctx, body.name, given.gatewayNodes ?? [], subnet, `externalSubnets[${index}]/gatewayNodes`)
    await requireClusterReachable(ctx, subnet.clusterReference)
  }
  return attaching
}

/** @param before present attachments @returns new ones, with leased ports and gateway nodes */
export async function connectExternalSubnets(
  ctx: WriteContext,
  vpcExtId: string,
  attaching: readonly Attaching[],
  before: readonly Attachment[],
): Promise<Attachment[]> {
  const attachments: Attachment[] = []
  const carried = await portsByHost(ctx.store)
  for (const [index, { given, subnet }] of attaching.entries()) {
    const present = before.find((each) => each.subnetReference === subnet.extId)
    const path = `externalSubnets[${index}]/externalIps`
    const attachment: Attachment = {
      ...given,
      externalIps: await portsOf(ctx, vpcExtId, subnet, given.externalIps ?? [], present?.externalIps ?? [], path),
      activeGatewayCount: given.activeGatewayCount ?? 1,
      ...(present?.activeGatewayNodes === undefined ? {} : { activeGatewayNodes: present.activeGatewayNodes }),
    }
    attachments.push({ ...attachment, activeGatewayNodes: await gatewayNodesFor(ctx, subnet, attachment, carried) })
  }
  return attachments
}

/** By family: requested addresses, else the present ones, else one from the pools. */
async function portsOf(
  ctx: WriteContext,
  vpcExtId: string,
  subnet: SubnetEntity,
  named: NonNullable<Attachment['externalIps']>,
  present: NonNullable<Attachment['externalIps']>,
  path: string,
): Promise<NonNullable<Attachment['externalIps']>> {
  const terms = { kind: 'ROUTER_PORT' as const, holder: vpcExtId }
  if (named.length === 0) {
    if (present.length > 0) return present
    const ports: Address[] = []
    for (const family of families) {
      if (planOf(subnet.ipConfig)[family] === undefined) continue
      ports.push(await leaseAddress(ctx, subnet, { ...terms, family }))
    }
    return ports.map(writeAddress)
  }
  const held = new Set(present.map(textOf))
  const added = named.map((given, index) => ({ given, index })).filter(({ given }) => !held.has(textOf(given)))
  const addresses = added.map(({ given }) => readAddress(given) as Address)
  await leaseExactly(ctx, subnet, addresses, terms, (place) => `${path}[${added[place]!.index}]`)
  return named.map(writeAsGiven)
}

/** Releases port addresses of the VPC that are in none of these attachments. */
export async function keepPorts(
  store: Transaction,
  vpcExtId: string,
  attachments: readonly Attachment[],
): Promise<void> {
  const attached = new Set(
    attachments.flatMap(({ subnetReference, externalIps = [] }) =>
      externalIps.map((given) => `${subnetReference} ${textOf(given)}`),
    ),
  )
  const isDetached = (lease: Lease): boolean => !attached.has(`${lease.subnetExtId} ${textOfLease(lease)}`)
  await release(store, (await leasesOf(store, vpcExtId)).filter(isDetached))
}

async function requireNodes(
  ctx: WriteContext,
  name: string,
  nodes: readonly string[],
  subnet: SubnetEntity,
  path: string,
): Promise<void> {
  if (nodes.length === 0) return
  const existing = new Set((await ctx.store.getMany(Host, nodes)).map(({ extId }) => extId))
  const missing = nodes.filter((extId) => !existing.has(extId))
  const values = { verb: ctx.operation.verb, kind: Vpc.title, name, referencedKind: Host.title }
  refuseAll(
    missing.map((referencedExtId) => new ApiError('NETWORKING_REFERENCE_NOT_FOUND', { ...values, referencedExtId })),
  )
  const able = new Set((await schedulableHosts(ctx.store, subnet)).map((host: EntityOf<typeof Host>) => host.extId))
  refuseAll(
    nodes.flatMap((extId, index) =>
      able.has(extId)
        ? []
        : [
            invalidField(
              `${path}[${index}]`,
              `expected a host that reaches ${subnet.name} and runs guests, found ${extId}`,
            ),
          ],
    ),
  )
}

export const subnetsBetween = (a: VpcEntity | undefined, b: VpcEntity | undefined): readonly string[] => {
  const [has, had] = [idsOf(a), idsOf(b)]
  return [...has.filter((extId) => !had.includes(extId)), ...had.filter((extId) => !has.includes(extId))]
}
const idsOf = (vpc: VpcEntity | undefined): string[] =>
  (vpc?.externalSubnets ?? []).map(({ subnetReference }) => subnetReference)
