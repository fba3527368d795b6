/** The fabric holds the status. Source: behaviour networking.md 1.10, 1.22. */
import type { BodyOf } from '@hyperplane/contract'
import { BgpSession, bgpSessionOperations } from '@hyperplane/contract/networking/bgp-session'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { type ApiError, refuseAll } from '../../core/api-error.ts'
import { type Address, formatPrefix, readAddress, writeAddress } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { affected, bodyRules, implement, type ReadContext, type WriteContext } from '../context.ts'
import { limit } from '../limits.ts'
import { interfaceFor, keepInterfaces } from './bgp-interfaces.ts'
import { programPeer } from './bgp-peer.ts'
import { type SessionEntity, viewOf } from './bgp-view.ts'
import { refuseDuringCreationOrDeletion, refuseWhileChanging } from './busy.ts'
import { type GatewayEntity, localBgpOf, remoteBgpOf, vpcOf } from './gateway/entity.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { hostFaults, invalidField } from './ip-config.ts'
import { prefixOfSubnet, readSubnet, writeSubnetAsGiven } from './ip-subnet.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'
import { reachOf } from './route-nexthop.ts'

type SessionBody = BodyOf<typeof BgpSession>

/** Per local gateway. Source: behaviour networking.md 3.5. */
const maximumSessions = limit('bgpSessionsOfGateway', 10)

interface SessionReferences {
  readonly local: GatewayEntity
  readonly peer: Address
  readonly vpc: VpcEntity
  /** Where the local gateway speaks: the external subnet of the VPC without NAT. */
  readonly uplink: SubnetEntity
}

const sessions = lifecycle<SessionEntity, SessionBody, SessionReferences>(BgpSession, {
  phases: [
    {
      create: ['add peer', 100, [0.7, 1.8]],
      update: ['configure peer', 100, [0.7, 1.8]],
      delete: ['withdraw routes and remove peer', 100, [0.7, 1.8]],
      program: (ctx, session) => programPeer(ctx, session),
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeBgpPeer(extId),
    },
  ],
  resolve: referencesOf,
  async configure(ctx, { body, references: { local, peer, vpc, uplink }, stored, entity }) {
    const { externallyRoutablePrefixesToAdvertise: listed } = body
    if (stored === undefined) {
      const found = await ctx.store.count(BgpSession, { refersTo: { kind: Gateway.kind, extId: local.extId } })
      refuseBeyond(ctx, maximumSessions, `BGP sessions of the gateway ${local.name}`, found + 1)
    }
    refuseAll(foreignPrefixes(listed ?? [], vpc))
    const requested = body.localGatewayInterfaceIpAddress ?? stored?.localGatewayInterfaceIpAddress
    return {
      localGatewayInterfaceIpAddress: writeAddress(await interfaceFor(ctx, local, uplink, peer.family, requested)),
      shouldAdvertiseAllExternallyRoutablePrefixes:
        entity.shouldAdvertiseAllExternallyRoutablePrefixes ?? listed === undefined,
      ...(listed !== undefined && { externallyRoutablePrefixesToAdvertise: listed.map(writeSubnetAsGiven) }),
    }
  },
  async task(ctx, { localGatewayReference, remoteGatewayReference }) {
    const gateways = await ctx.store.getMany(Gateway, [localGatewayReference, remoteGatewayReference])
    return {
      affected: gateways.map((each) => affected(Gateway, each)),
      // An update of a gateway programs its peers.
      locks: gateways.map(({ extId }) => extId),
    }
  },
  unique: { fields: ['name'], among: (ctx) => ctx.store.find(BgpSession), text: () => 'name' },
  settle: (ctx, session) => keepInterfaces(ctx.store, session.localGatewayReference, { settled: session }),
  release: (ctx, session) => keepInterfaces(ctx.store, session.localGatewayReference, { released: session.extId }),
})

export const bgpSession = implement(
  bgpSessionOperations,
  {
    createBgpSession: sessions.create,
    updateBgpSessionById: sessions.update,
    deleteBgpSessionById: sessions.remove,
  },
  {
    rules: bodyRules('createBgpSession, updateBgpSessionById', sessionFaults),
    tasks: sessions.tasks,
    present: [[BgpSession, presentSessions]],
    limits: [maximumSessions],
  },
)

async function presentSessions(ctx: ReadContext, shown: readonly SessionEntity[]): Promise<readonly SessionEntity[]> {
  return Promise.all(shown.map(async (session) => ({ ...session, status: (await viewOf(ctx, session)).status })))
}

function sessionFaults(body: SessionBody): readonly ApiError[] {
  const { localGatewayInterfaceIpAddress: own, externallyRoutablePrefixesToAdvertise: listed } = body
  const faults = own === undefined ? [] : hostFaults(own, 'localGatewayInterfaceIpAddress')
  for (const [index, subnet] of (listed ?? []).entries()) {
    const prefix = readSubnet(subnet, `externallyRoutablePrefixesToAdvertise[${index}]`)
    if (!('first' in prefix)) faults.push(...prefix)
  }
  if (listed !== undefined && body.shouldAdvertiseAllExternallyRoutablePrefixes === true)
    faults.push(
      invalidField('shouldAdvertiseAllExternallyRoutablePrefixes', 'expected false, because prefixes are listed'),
    )
  return faults
}

/** @throws ApiError 400 for gateways of another sort, and for a VPC without a place to speak; 409 for a busy VPC */
async function referencesOf(ctx: WriteContext, body: SessionBody): Promise<SessionReferences> {
  const local = (await ctx.store.get(Gateway, body.localGatewayReference)) as GatewayEntity
  const remote = (await ctx.store.get(Gateway, body.remoteGatewayReference)) as GatewayEntity
  for (const gateway of [local, remote]) refuseWhileChanging('Gateway', gateway)
  const [own, other] = [localBgpOf(local), remoteBgpOf(remote)]
  refuseAll([
    ...(own === undefined
      ? [invalidField('localGatewayReference', 'expected a local gateway with a BGP service')]
      : []),
    ...(other === undefined
      ? [invalidField('remoteGatewayReference', 'expected a remote gateway with a BGP service')]
      : []),
    ...(own !== undefined && own.asn === other?.asn
      ? [
          invalidField(
            'remoteGatewayReference',
            `expected another AS number than ${own.asn}, that of the local gateway`,
          ),
        ]
      : []),
  ])
  const peer = readAddress(other!.address) as Address
  const requested = body.localGatewayInterfaceIpAddress && (readAddress(body.localGatewayInterfaceIpAddress) as Address)
  if (requested !== undefined && requested.family !== peer.family)
    throw invalidField('localGatewayInterfaceIpAddress', 'expected an address of the family of the remote gateway')
  const vpc = (await ctx.store.get(Vpc, vpcOf(local) as string)) as VpcEntity
  refuseDuringCreationOrDeletion('VPC', vpc)
  const uplink = (await reachOf(ctx.store, vpc)).external.find(({ isNatEnabled }) => isNatEnabled !== true)
  if (uplink !== undefined) return { local, peer, vpc, uplink }
  const expected = `expected a gateway of a VPC with an external subnet without NAT; ${vpc.name} has none`
  throw invalidField('localGatewayReference', expected)
}

function foreignPrefixes(
  listed: NonNullable<SessionBody['externallyRoutablePrefixesToAdvertise']>,
  { name, externallyRoutablePrefixes = [] }: VpcEntity,
): readonly ApiError[] {
  const own = new Set(externallyRoutablePrefixes.map((each) => formatPrefix(prefixOfSubnet(each))))
  return listed.flatMap((each, index) => {
    const prefix = formatPrefix(prefixOfSubnet(each))
    const path = `externallyRoutablePrefixesToAdvertise[${index}]`
    const expected = `expected an externally routable prefix of the VPC ${name}, found ${prefix}`
    return own.has(prefix) ? [] : [invalidField(path, expected)]
  })
}
