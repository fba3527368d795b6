/** Source: behaviour networking.md 1.9. */
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway, gatewayOperations } from '@hyperplane/contract/networking/gateway'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import { readAddress, textOf } from '../../../core/ip-address.ts'
import { releaseHolder } from '../../addressing/leases.ts'
import { affected, implement, type WriteContext } from '../../context.ts'
import { releaseManagerNodes } from '../../scheduling/manager-nodes.ts'
import { keepInterfaces } from '../bgp-interfaces.ts'
import { inUse, nameFor, namesOf, shownUsers, visibleReferrers } from '../in-use.ts'
import { invalidField } from '../ip-config.ts'
import { programStretchesOf } from '../layer2-stretch/program.ts'
import { lifecycle } from '../lifecycle.ts'
import { refuseUnfitForTunnels } from '../vpn-connection/gateways.ts'
import { connectionsOf } from '../vpn-connection/program.ts'
import { agentPhase, applianceOf, clusterOfGateway, diskPhase, placePhase, powerPhase } from './appliance.ts'
import {
  type GatewayBody,
  type GatewayEntity,
  localBgpOf,
  localOf,
  localVpnOf,
  remoteBgpOf,
  servicesOf,
  supportedVersion,
  vpcOf,
} from './entity.ts'
import { keepingPasswords, missingPasswordFaults } from './interior.ts'
import { type Interface, interfacesFor, type Placement, placementOf } from './placement.ts'
import { migrateGateway, moveGateways, recoverGateway } from './recovery.ts'
import { gatewayFaults } from './rules.ts'
import { programPeers, serversFor, servicePhase } from './service.ts'
import { upgrade, upgradeGateway } from './upgrade.ts'
import { presentGateways } from './view.ts'

const locals = lifecycle<GatewayEntity, GatewayBody, Placement>(Gateway, {
  noun: 'gateway',
  phases: [placePhase, diskPhase, powerPhase, agentPhase, servicePhase],
  cancelableUntil: 'power on',
  async resolve(ctx, body, stored) {
    if (stored !== undefined) refuseOtherService(body, stored)
    return placementOf(ctx, body, stored)
  },
  async configure(ctx, { references: placement, entity: given, stored }) {
    const entity = keepingPasswords(given, stored)
    refuseAll(missingPasswordFaults(entity))
    if (stored !== undefined) await refuseOtherAsn(ctx, entity, stored)
    const interfaces = await interfacesFor(ctx, entity, placement, stored)
    const services = placed(entity, interfaces)
    if (stored !== undefined) await refuseUnfitForTunnels(ctx, { ...entity, ...services })
    const vmReference = stored?.vmReference ?? ctx.ids.uuid()
    const { installedSoftwareVersion = supportedVersion } = stored ?? {}
    return {
      ...services,
      deployment: {
        ...entity.deployment,
        ...(await serversFor(ctx.store, entity.deployment ?? {}, placement.clusterExtId, stored?.deployment)),
        ...managed(entity, interfaces),
        clusterReference: placement.clusterExtId,
        interfaces,
      },
      vmReference,
      installedSoftwareVersion,
      supportedSoftwareVersion: supportedVersion,
      // An update waits for a recovery that runs, and must not store its state again.
      recovery: undefined,
    }
  },
  async task({ store }, entity) {
    const vpc = await store.get(Vpc, vpcOf(entity) ?? '')
    return {
      affected: vpc === undefined ? [] : [affected(Vpc, vpc)],
      clusterExtIds: [clusterOfGateway(entity)],
    }
  },
  held: ({ deployment }) => ({
    addresses: (deployment?.interfaces ?? []).flatMap(({ ipAddress }) => textOf(ipAddress) ?? []),
  }),
  refuseRemoval: refuseInUse,
  settle: (ctx, { extId }) => keepInterfaces(ctx.store, extId),
  async release(ctx, gateway) {
    await releaseHolder(ctx.store, gateway.extId)
    await releaseManagerNodes(ctx.store, [applianceOf(gateway)])
  },
})

const remotes = lifecycle<GatewayEntity, GatewayBody, undefined>(Gateway, {
  noun: 'remote-gateway',
  phases: [
    {
      create: ['store', 100, [0.05, 0.15]],
      update: ['configure peers', 100, [0.05, 0.15]],
      delete: ['remove', 100, [0.05, 0.15]],
      async program(ctx, gateway) {
        await programPeers(ctx, gateway)
        await programStretchesOf(ctx, gateway)
      },
    },
  ],
  async resolve(_, body, stored) {
    if (stored !== undefined) refuseOtherService(body, stored)
    return undefined
  },
  async configure(ctx, { entity: given, stored }) {
    const entity = keepingPasswords(given, stored)
    refuseAll(missingPasswordFaults(entity))
    if (stored !== undefined) {
      await refuseUnfitForSessions(ctx, entity)
      await refuseUnfitForTunnels(ctx, entity)
    }
    const { services } = entity
    return { services }
  },
  refuseRemoval: refuseInUse,
})

export const gateway = implement(
  gatewayOperations,
  {
    createGateway: (ctx, request) => (localOf(request.body) === undefined ? remotes : locals).create(ctx, request),
    updateGatewayById: (ctx, request) => (localOf(ctx.target) === undefined ? remotes : locals).update(ctx, request),
    deleteGatewayById: (ctx) => (localOf(ctx.target) === undefined ? remotes : locals).remove(ctx),
    upgradeGatewayById: upgrade,
  },
  {
    rules: {
      createGateway: ({ body }, { operation }) => gatewayFaults(body, operation),
      updateGatewayById: ({ body }, { operation }) => gatewayFaults(body, operation),
    },
    tasks: [...locals.tasks, ...remotes.tasks, migrateGateway, recoverGateway, upgradeGateway],
    present: [[Gateway, presentGateways]],
    schedules: [moveGateways],
  },
)

/** The VPC in both places, and the addresses of the service. */
function placed(entity: GatewayEntity, interfaces: readonly Interface[]) {
  const services = localOf(entity)
  const vpcReference = vpcOf(entity)
  const addresses = interfaces.flatMap(({ ipAddress }) => ipAddress ?? [])
  const [serviceAddress] = addresses
  return {
    ...(vpcReference !== undefined && { vpcReference }),
    services: {
      ...services,
      $objectType: 'networking.v4.config.LocalNetworkServices',
      ...(services?.localBgpService !== undefined && {
        localBgpService: { ...services.localBgpService, ...(vpcReference !== undefined && { vpcReference }) },
      }),
      ...(serviceAddress !== undefined && { serviceAddress, serviceAddresses: addresses }),
    },
  }
}

/** Values that the request left to the subnet. */
function managed({ deployment }: GatewayEntity, [own]: readonly Interface[]) {
  const given = deployment?.managementInterface
  if (given === undefined || own === undefined) return {}
  const { ipAddress: address, defaultGatewayAddress: defaultGateway, mtu } = own
  return { managementInterface: { ...given, address, defaultGateway, mtu } }
}

function refuseOtherService(body: GatewayBody, stored: GatewayEntity): void {
  const [found, expected] = [servicesOf(body).join(), servicesOf(stored).join()]
  if (found !== expected)
    throw new ApiError('NETWORKING_IMMUTABLE_ATTRIBUTE', { attributePath: 'services', expected, found })
}

const sessionsOf = (ctx: WriteContext, { extId }: GatewayEntity) =>
  ctx.store.find(BgpSession, { refersTo: { kind: Gateway.kind, extId } })

const asnOf = (gateway: GatewayEntity): number | undefined =>
  localBgpOf(gateway)?.asn ?? localVpnOf(gateway)?.ebgpConfig?.asn

/** @throws ApiError 409 while BGP sessions or tunnels use the AS number */
async function refuseOtherAsn(ctx: WriteContext, entity: GatewayEntity, stored: GatewayEntity): Promise<void> {
  if (asnOf(entity) === asnOf(stored)) return
  const users = [
    ...(await sessionsOf(ctx, stored)).map((entity) => ({ kind: BgpSession, entity })),
    ...(await connectionsOf(ctx.store, stored.extId)).map((entity) => ({ kind: VpnConnection, entity })),
  ]
  if (users.length > 0) throw inUse('AS number of the gateway', stored.name, await shownUsers(ctx, users))
}

/** @throws ApiError 400 for an AS number or address with which its BGP sessions cannot work */
async function refuseUnfitForSessions(ctx: WriteContext, entity: GatewayEntity): Promise<void> {
  const service = remoteBgpOf(entity)
  if (service === undefined) return
  const address = readAddress(service.address)
  const path = 'services/remoteBgpService'
  for (const session of await sessionsOf(ctx, entity)) {
    const { localGatewayReference, localGatewayInterfaceIpAddress: own } = session
    const shown = await nameFor(ctx, BgpSession, session)
    const local = (await ctx.store.get(Gateway, localGatewayReference)) as GatewayEntity
    if (localBgpOf(local)?.asn === service.asn)
      throw invalidField(
        `${path}/asn`,
        `expected another AS number than ${service.asn}, that of the local gateway of the ${shown}`,
      )
    const family = own?.ipv4 === undefined ? 'IPV6' : 'IPV4'
    if (typeof address === 'object' && address.family !== family)
      throw invalidField(`${path}/address`, `expected an address of the family ${family}, as the ${shown} has`)
  }
}

async function refuseInUse(ctx: WriteContext, { extId, name }: GatewayEntity): Promise<void> {
  const users = await visibleReferrers(ctx, Gateway.kind, extId, () => true)
  if (users.length > 0) throw inUse('gateway', name, await namesOf(ctx, users))
}
