/** Source: behaviour networking.md 1.11, 1.22. */
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { VpnConnection, vpnConnectionOperations } from '@hyperplane/contract/networking/vpn-connection'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import { type Address, readAddress, writeAddress } from '../../../core/ip-address.ts'
import type { Reader } from '../../../store/store.ts'
import { affected, type Broken, implement, type WriteContext } from '../../context.ts'
import { rowsOf } from '../../invariants/rule.ts'
import { limit } from '../../limits.ts'
import { refuseDuringCreationOrDeletion, refuseWhileChanging } from '../busy.ts'
import { type GatewayEntity, localVpnOf, remoteVpnOf, vpcOf } from '../gateway/entity.ts'
import { inUse, namesOf, visibleReferrers } from '../in-use.ts'
import { invalidField } from '../ip-config.ts'
import { lifecycle, refuseBeyond } from '../lifecycle.ts'
import { pairFaults } from './gateways.ts'
import { connectionsOf, type Ends, tunnelPhases } from './program.ts'
import {
  type ConnectionBody,
  type ConnectionEntity,
  connectionFaults,
  freeInterfaces,
  interfacePrefixOf,
} from './rules.ts'
import { presentConnections } from './view.ts'

/** A local and a remote gateway have the same limit. Source: behaviour networking.md 3.5. */
const maximumConnections = limit('vpnConnectionsOfGateway', 20)

const connections = lifecycle<ConnectionEntity, ConnectionBody, Ends>(VpnConnection, {
  phases: tunnelPhases,
  resolve: endsFor,
  async configure(ctx, { references: { local, remote }, entity, stored }) {
    for (const { extId, name } of stored === undefined ? [local, remote] : []) {
      const found = (await connectionsOf(ctx.store, extId)).length
      refuseBeyond(ctx, maximumConnections, `VPN connections of the gateway ${name}`, found + 1)
    }
    const others = (await connectionsOf(ctx.store, local.extId)).filter(({ extId }) => extId !== entity.extId)
    return {
      ...interfacesOf(entity, stored, others),
      ...(stored === undefined && { createdAt: ctx.clock.iso() }),
    }
  },
  async task(ctx, { localGatewayReference, remoteGatewayReference }) {
    const gateways = await ctx.store.getMany(Gateway, [localGatewayReference, remoteGatewayReference])
    return {
      affected: gateways.map((each) => affected(Gateway, each)),
      // An update of a gateway programs its tunnels.
      locks: gateways.map(({ extId }) => extId),
    }
  },
  unique: { fields: ['name'], among: (ctx) => ctx.store.find(VpnConnection), text: () => 'name' },
  refuseRemoval: refuseInUse,
})

export const vpnConnection = implement(
  vpnConnectionOperations,
  {
    createVpnConnection: connections.create,
    updateVpnConnectionById: connections.update,
    deleteVpnConnectionById: connections.remove,
  },
  {
    rules: {
      createVpnConnection: ({ body }) => [
        ...(body.ipsecConfig.preSharedKey === undefined
          ? [invalidField('ipsecConfig/preSharedKey', 'is required')]
          : []),
        ...connectionFaults(body),
      ],
      updateVpnConnectionById: ({ body }) => connectionFaults(body),
    },
    tasks: connections.tasks,
    present: [[VpnConnection, presentConnections]],
    limits: [maximumConnections],
    invariants: [
      {
        promise: 'Every VPN connection joins a local and a remote VPN gateway, and its interface addresses are its own',
        look,
      },
    ],
  },
)

/** @throws ApiError 400 for gateways of another sort, 409 for busy ones */
async function endsFor(ctx: WriteContext, body: ConnectionBody): Promise<Ends> {
  const local = (await ctx.store.get(Gateway, body.localGatewayReference)) as GatewayEntity
  const remote = (await ctx.store.get(Gateway, body.remoteGatewayReference)) as GatewayEntity
  for (const gateway of [local, remote]) refuseWhileChanging('Gateway', gateway)
  const [own, other] = [localVpnOf(local), remoteVpnOf(remote)]
  refuseAll([
    ...(own === undefined
      ? [invalidField('localGatewayReference', 'expected a local gateway with a VPN service')]
      : []),
    ...(other === undefined
      ? [invalidField('remoteGatewayReference', 'expected a remote gateway with a VPN service')]
      : []),
  ])
  refuseAll(pairFaults({ local, remote }, 'remoteGatewayReference'))
  const vpc = await ctx.store.get(Vpc, vpcOf(local) ?? '')
  if (vpc !== undefined) refuseDuringCreationOrDeletion('VPC', vpc)
  return { local, remote }
}

/** Default: the present addresses. @throws ApiError 409 for those of another connection */
function interfacesOf(
  { ipsecConfig }: ConnectionEntity,
  stored: ConnectionEntity | undefined,
  others: readonly ConnectionEntity[],
): Pick<ConnectionEntity, 'interfacePrefix' | 'ipsecConfig'> {
  const taken = new Set(
    others.flatMap((each) => [each.interfacePrefix ?? [], each.change?.interfacePrefix ?? []].flat()),
  )
  const { localVtiIp, remoteVtiIp } = ipsecConfig.localVtiIp === undefined ? (stored?.ipsecConfig ?? {}) : ipsecConfig
  const { local, remote } =
    localVtiIp === undefined || remoteVtiIp === undefined
      ? freeInterfaces(taken)
      : { local: readAddress(localVtiIp) as Address, remote: readAddress(remoteVtiIp) as Address }
  const interfacePrefix = interfacePrefixOf(local)
  if (taken.has(interfacePrefix)) {
    const fields = `ipsecConfig/localVtiIp (${interfacePrefix}) on its local gateway`
    throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: VpnConnection.title, fields })
  }
  const written = { localVtiIp: writeAddress(local), remoteVtiIp: writeAddress(remote) }
  return { interfacePrefix, ipsecConfig: { ...ipsecConfig, ...written } }
}

/** @throws ApiError 409 while static routes or a stretch use it */
async function refuseInUse(ctx: WriteContext, { extId, name }: ConnectionEntity): Promise<void> {
  const users = await visibleReferrers(ctx, VpnConnection.kind, extId, () => true)
  if (users.length > 0) throw inUse(VpnConnection.title, name, await namesOf(ctx, users))
}

async function* look(store: Reader): AsyncGenerator<Broken> {
  const holders = new Map<string, string>()
  for await (const connection of rowsOf(store, VpnConnection)) {
    const { extId, name, localGatewayReference: localExtId, interfacePrefix } = connection
    const local = await store.get(Gateway, localExtId)
    const remote = await store.get(Gateway, connection.remoteGatewayReference)
    if (local === undefined || localVpnOf(local) === undefined)
      yield { about: [extId, localExtId], fault: `the local gateway of "${name}" is no VPN gateway` }
    if (remote === undefined || remoteVpnOf(remote) === undefined)
      yield { about: [extId], fault: `the remote gateway of "${name}" is no VPN gateway` }
    const key = `${localExtId} ${interfacePrefix}`
    const other = holders.get(key)
    if (other !== undefined) yield { about: [extId, other], fault: `"${name}" shares ${interfacePrefix} with ${other}` }
    holders.set(key, extId)
  }
}
