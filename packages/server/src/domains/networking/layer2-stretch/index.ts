/** The fabric holds the status. Source: behaviour networking.md 1.12, 1.22. */
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Layer2Stretch, layer2StretchOperations } from '@hyperplane/contract/networking/layer2-stretch'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { ApiError } from '../../../core/api-error.ts'
import { textOf } from '../../../core/ip-address.ts'
import type { Reader } from '../../../store/store.ts'
import { planOf } from '../../addressing/address-plan.ts'
import { leasesOf, releaseHolder, textOfLease } from '../../addressing/leases.ts'
import { affected, type Broken, bodyRules, implement, type WriteContext } from '../../context.ts'
import { rowsOf } from '../../invariants/rule.ts'
import { limit } from '../../limits.ts'
import { nameFor } from '../in-use.ts'
import { lifecycle, refuseBeyond } from '../lifecycle.ts'
import type { StretchBody, StretchEntity } from './entity.ts'
import { releaseOthers, sitesFor } from './interfaces.ts'
import { stretchProgram } from './program.ts'
import { type RemoteEnd, readRemoteEnd, type StretchReferences, stretchReferences } from './references.ts'
import { refuseUnlike, stretchFaults } from './rules.ts'
import { presentStretches } from './view.ts'

/** Source: behaviour networking.md 3.5. */
const maximumStretches = limit('layer2Stretches', 100)

/** Leaves room for the headers of the tunnel. */
const defaultMtu = { VPN: 1392, VXLAN: 1450 } as const

const stretches = lifecycle<StretchEntity, StretchBody, StretchReferences>(Layer2Stretch, {
  phases: [
    {
      create: ['set up tunnel', 60, [1.2, 3]],
      update: ['configure tunnel', 100, [2, 5]],
      delete: ['remove tunnel', 100, [1.2, 3]],
      program: async (ctx, stretch) =>
        ctx.drivers.networkFabric.programStretch(await stretchProgram(ctx.store, stretch)),
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeStretch(extId),
    },
    {
      create: ['bridge subnet', 100, [1, 2.5]],
      delete: ['end bridging', 40, [1, 2.5]],
      program: (ctx, { extId }) => ctx.drivers.networkFabric.bridgeSubnet(extId),
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.endBridging(extId),
    },
  ],
  resolve: (ctx, body, stored, prepared) => stretchReferences(ctx, body, stored, prepared as RemoteEnd | undefined),
  async configure(ctx, { entity, references, stored }) {
    const { connection, gateway, remoteGateway, remoteIpConfig, remoteVteps, subnet } = references
    if (stored === undefined) {
      refuseBeyond(ctx, maximumStretches, 'Layer-2 stretches', (await ctx.store.count(Layer2Stretch)) + 1)
      await refuseTaken(ctx, entity)
    }
    refuseUnlike(planOf(subnet.ipConfig), planOf(remoteIpConfig), 'remoteSiteParams/stretchSubnetReference')
    return {
      ...(await sitesFor(ctx, entity, references, stored)),
      mtu: entity.mtu ?? defaultMtu[entity.connectionType],
      subnetExtId: subnet.extId,
      ...(connection === undefined ? { gatewayExtId: gateway.extId } : { vpnConnectionExtId: connection.extId }),
      remoteIpConfig,
      ...(remoteGateway && { remoteGatewayExtId: remoteGateway.extId }),
      ...(remoteVteps && { remoteVteps: [...remoteVteps] }),
      createdAt: stored?.createdAt ?? ctx.clock.iso(),
    }
  },
  async task({ store }, { gatewayExtId = '', remoteGatewayExtId = '', subnetExtId = '', vpnConnectionExtId = '' }) {
    const subnet = await store.get(Subnet, subnetExtId)
    const connection = await store.get(VpnConnection, vpnConnectionExtId)
    const { localGatewayReference = gatewayExtId, remoteGatewayReference = remoteGatewayExtId } = connection ?? {}
    const gateways = await store.getMany(Gateway, [localGatewayReference, remoteGatewayReference])
    return {
      affected: [affected(Subnet, subnet!), ...gateways.map((each) => affected(Gateway, each))],
      // An update of a remote gateway programs its stretches.
      locks: connection === undefined ? gateways.map(({ extId }) => extId) : [connection.extId],
    }
  },
  held: ({ localSiteParams }) => ({ interfaceAddress: localSiteParams.stretchInterfaceIpAddress }),
  unique: { fields: ['name'], among: (ctx) => ctx.store.find(Layer2Stretch), text: () => 'name' },
  settle: (ctx, stretch) => releaseOthers(ctx.store, stretch),
  release: async (ctx, { extId }) => void (await releaseHolder(ctx.store, extId)),
})

export const layer2Stretch = implement(
  layer2StretchOperations,
  {
    createLayer2Stretch: stretches.create,
    updateLayer2StretchById: stretches.update,
    deleteLayer2StretchById: stretches.remove,
  },
  {
    rules: bodyRules('createLayer2Stretch, updateLayer2StretchById', stretchFaults),
    prepare: { createLayer2Stretch: (ctx, { body }) => readRemoteEnd(ctx, body) },
    tasks: stretches.tasks,
    present: [[Layer2Stretch, presentStretches]],
    limits: [maximumStretches],
    invariants: [{ promise: 'The interface of every layer-2 stretch is leased, and its sites share no address', look }],
  },
)

async function refuseTaken(
  ctx: WriteContext,
  { localSiteParams, remoteSiteParams, vni }: StretchEntity,
): Promise<void> {
  for (const other of await ctx.store.find(Layer2Stretch)) {
    const doesShare = (side: 'localSiteParams' | 'remoteSiteParams', params: typeof localSiteParams): boolean =>
      other[side].connectionReference === params.connectionReference
    const hasSameGateway =
      doesShare('localSiteParams', localSiteParams) || doesShare('remoteSiteParams', remoteSiteParams)
    if (other.localSiteParams.stretchSubnetReference === localSiteParams.stretchSubnetReference)
      throw taken(`local subnet (${await nameFor(ctx, Layer2Stretch, other)})`)
    if (vni !== undefined && other.vni === vni && hasSameGateway)
      throw taken(`vni on its gateway (${await nameFor(ctx, Layer2Stretch, other)})`)
  }
}

const taken = (fields: string): ApiError =>
  new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: Layer2Stretch.title, fields })

async function* look(store: Reader): AsyncGenerator<Broken> {
  for await (const { extId, name, localSiteParams, subnetExtId = '', remoteIpConfig } of rowsOf(store, Layer2Stretch)) {
    const address = textOf(localSiteParams.stretchInterfaceIpAddress)
    const leases = await leasesOf(store, extId)
    if (!leases.some((lease) => lease.subnetExtId === subnetExtId && textOfLease(lease) === address))
      yield { about: [extId, subnetExtId], fault: `the interface ${address} of "${name}" is not leased` }
    try {
      refuseUnlike(planOf((await store.get(Subnet, subnetExtId))?.ipConfig), planOf(remoteIpConfig), subnetExtId)
    } catch (error) {
      yield { about: [extId, subnetExtId], fault: `the sites of "${name}" do not fit: ${(error as Error).message}` }
    }
  }
}
