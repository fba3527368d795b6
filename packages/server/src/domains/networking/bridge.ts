/** A virtual switch is made of a bridge that exists on hosts. Source: behaviour networking.md 1.18, 1.22. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { bridgeOperations } from '@hyperplane/contract/networking/bridge'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { ApiError } from '../../core/api-error.ts'
import type { BridgeView } from '../../drivers/host-networking.ts'
import { DriverError, defineTask, implement, mayRefer, type StepContext, type WriteContext } from '../context.ts'
import { lockOfSwitches } from '../scheduling/switch-bridges.ts'
import { invalidField } from './ip-config.ts'
import { metadataOf, ownerMetadata } from './metadata.ts'
import { refuseFurtherSwitch } from './virtual-switch/index.ts'
import type { SwitchEntity, SwitchHost } from './virtual-switch/rules.ts'

interface Migration {
  readonly extId: string
  readonly name: string
  readonly clusterExtId: string
  /** The cluster exists, and the caller may see it. */
  readonly isKnown: boolean
  readonly bridgeName: string
  readonly row: Pick<SwitchEntity, 'description' | 'metadata' | 'tenantId'>
}

const migrate = defineTask<Migration>({
  name: 'networking.migrate-bridge',
  steps: [
    { name: 'find bridge', progress: 10, run: validBridges },
    {
      name: 'take bridge over',
      progress: 95,
      run: async (ctx, { extId }) => {
        for (const bridge of bridgesIn(ctx))
          await ctx.drivers.networkFabric.putBridge({ ...programOf(bridge), virtualSwitchExtId: extId }, 'quick')
      },
      undo: async (ctx, { extId }) => {
        for (const { hostExtId, name } of bridgesIn(ctx)) {
          const now = ctx.drivers.networkFabric.bridges(hostExtId).find((each) => each.name === name)
          if (now?.virtualSwitchExtId !== extId) continue
          const { virtualSwitchExtId: _, ...free } = programOf(now)
          await ctx.drivers.networkFabric.putBridge(free, 'quick')
        }
      },
    },
    {
      name: 'store',
      record: async (ctx, migration) => {
        await ctx.store.insert(VirtualSwitch, switchOf(migration, bridgesIn(ctx)))
        const hosts = bridgesIn(ctx).map(({ hostExtId }) => hostExtId)
        for (const { extId, hostName } of await ctx.store.getMany(Host, hosts))
          ctx.affect({ extId, name: hostName, rel: Host.rel })
      },
    },
  ],
})

const bridgesIn = (ctx: Pick<StepContext, 'outputs'>) => (ctx.outputs['find bridge'] ?? []) as readonly BridgeView[]

/** @throws ApiError for an unknown cluster or bridge, and for a bridge that a virtual switch has */
async function validBridges(ctx: StepContext, migration: Migration): Promise<readonly BridgeView[]> {
  const { name, clusterExtId, isKnown, bridgeName } = migration
  const missing = (referencedKind: string, referencedExtId: string): ApiError =>
    new ApiError('NETWORKING_REFERENCE_NOT_FOUND', {
      ...{ verb: 'migrate', kind: 'bridge', name },
      ...{ referencedKind, referencedExtId },
    })
  if (!isKnown || !(await ctx.store.has(Cluster, clusterExtId))) throw missing('Cluster', clusterExtId)
  if (!ctx.drivers.hardware.isReachable(clusterExtId))
    throw DriverError.retryable(`the cluster ${clusterExtId} does not answer`)
  const hosts = await ctx.store.findWhere(Host, { 'cluster/uuid': clusterExtId })
  const bridges = hosts.flatMap(({ extId }) =>
    ctx.drivers.networkFabric.bridges(extId).filter((each) => each.name === bridgeName),
  )
  if (bridges.length === 0) throw missing('Bridge', bridgeName)
  const user = bridges.find(({ virtualSwitchExtId }) => (virtualSwitchExtId ?? migration.extId) !== migration.extId)
  if (user === undefined) return bridges
  const holder = await ctx.store.get(VirtualSwitch, user.virtualSwitchExtId as string)
  throw new ApiError('NETWORKING_ENTITY_IN_USE', {
    kind: 'bridge',
    name: bridgeName,
    users: `virtual switch ${holder?.name ?? user.virtualSwitchExtId}`,
  })
}

const programOf = ({ extId: _, macAddress: __, speedMbps: ___, ...program }: BridgeView) => program

function switchOf({ extId, name, clusterExtId, row }: Migration, bridges: readonly BridgeView[]): SwitchEntity {
  const { bondMode, mtu, vlan } = bridges[0] as BridgeView
  const gateway = bridges.find((bridge) => bridge.gateway !== undefined)?.gateway
  const keys = bridges.flatMap(({ hostExtId, uplinks }) => uplinks.map((uplink) => `${hostExtId}/${uplink}`))
  return {
    ...row,
    extId,
    name,
    bondMode,
    mtu,
    clusterExtId,
    clusters: [
      {
        extId: clusterExtId,
        hosts: bridges.map((bridge) => ({
          extId: bridge.hostExtId,
          internalBridgeName: bridge.name,
          hostNics: [...bridge.uplinks],
          ...(bridge.activeUplink === undefined ? {} : { activeUplink: bridge.activeUplink }),
          ...(bridge.address === undefined ? {} : { ipAddress: subnetOf(bridge.address) }),
        })),
        ...(gateway === undefined ? {} : { gatewayIpAddress: addressOf(gateway) }),
        ...(vlan === 0 ? {} : { vlanIdentifier: vlan }),
      },
    ],
    ...(keys.length === 0 ? {} : { uplinks: keys }),
    igmpSpec: { isSnoopingEnabled: false, snoopingTimeout: 300 },
    isQuickMode: false,
    isDefault: false,
    ownerType: 'PC',
    hasDeploymentError: false,
  }
}

const addressOf = (value: string) => ({ value, prefixLength: 32 })

function subnetOf(address: string): NonNullable<SwitchHost['ipAddress']> {
  const [value = '', length] = address.split('/')
  return { ip: addressOf(value), prefixLength: Number(length) }
}

export const bridge = implement(
  bridgeOperations,
  {
    async migrateBridge(ctx, { body, headers }) {
      const { name, description, existingBridgeName: bridgeName } = body
      const clusterExtId = (body.clusterReference ?? headers.clusterId) as string
      const cluster = await ctx.store.get(Cluster, clusterExtId)
      const isKnown = cluster !== undefined && (await mayRefer(ctx, Cluster, cluster))
      if (isKnown) await refuseTakenName(ctx, clusterExtId, name)
      const extId = ctx.ids.uuid()
      const row = {
        tenantId: ctx.tenantId,
        ...(description === undefined ? {} : { description }),
        metadata: metadataOf(body.metadata, ownerMetadata(ctx.caller)),
      }
      const task = await ctx.startTask(
        migrate,
        { extId, name, clusterExtId, isKnown, bridgeName, row },
        {
          operation: 'kBridgeMigrate',
          description: `Migrate bridge ${bridgeName}`,
          affected: [
            { extId, name, rel: VirtualSwitch.rel },
            ...(isKnown ? [{ extId: clusterExtId, name: cluster.name, rel: Cluster.rel }] : []),
          ],
          ...(isKnown ? { clusterExtIds: [clusterExtId] } : {}),
          locks: [extId, lockOfSwitches(clusterExtId)],
        },
      )
      return { ...task, created: extId }
    },
  },
  {
    rules: {
      migrateBridge: ({ body: { clusterReference }, headers: { clusterId } }) => {
        if (clusterReference === undefined && clusterId === undefined)
          return [invalidField('clusterReference', 'is required, here or as the header X-Cluster-Id')]
        const isContradicted =
          clusterReference !== undefined && clusterId !== undefined && clusterReference !== clusterId
        return isContradicted
          ? [invalidField('X-Cluster-Id', `expected the cluster of the body, ${clusterReference}`)]
          : []
      },
    },
    tasks: [migrate],
  },
)

async function refuseTakenName(ctx: WriteContext, clusterExtId: string, name: string): Promise<void> {
  await refuseFurtherSwitch(ctx, clusterExtId)
  for (const each of await ctx.store.findWhere(VirtualSwitch, { clusterExtId }))
    if (each.name === name || each.change?.name === name)
      throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: 'virtual switch', fields: 'name on the cluster' })
}
