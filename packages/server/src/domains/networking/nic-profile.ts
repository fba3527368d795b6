/** The fabric holds the virtual functions. Source: behaviour networking.md 1.19, 1.22. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { NicProfile, nicProfileOperations } from '@hyperplane/contract/networking/nic-profile'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import type { HostNicView } from '../../drivers/host-networking.ts'
import type { Reader } from '../../store/store.ts'
import { requireSupport } from '../admission/cluster-capabilities.ts'
import {
  type Broken,
  implement,
  mayRefer,
  type ReadContext,
  type TaskDefinition,
  type WriteContext,
} from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import { HostAllocation } from '../scheduling/host-allocation.ts'
import { refuseWhileChanging } from './busy.ts'
import { inUse, nameFor, namesOf, refusal, shownUsers, visibleReferrers } from './in-use.ts'
import { lifecycle } from './lifecycle.ts'
import { type Association, associate, disassociate, type OfHostNic, type ProfileEntity } from './nic-profile-tasks.ts'
import { uplinkKeysOf } from './virtual-switch/uplinks.ts'

type ProfileBody = BodyOf<typeof NicProfile>
type HostNicReference = NonNullable<ProfileEntity['hostNicReferences']>[number]

const profiles = lifecycle<ProfileEntity, ProfileBody, undefined>(NicProfile, {
  phases: [{ create: ['store', 100], update: ['store', 100], delete: ['remove', 100] }],
  resolve: async () => undefined,
  configure: async (_, { entity }) => ({ nicFamily: entity.nicFamily.toLowerCase(), hostNicReferences: undefined }),
  unique: { fields: ['name'], among: (ctx) => ctx.store.find(NicProfile), text: () => 'name' },
  async refuseRemoval(ctx, { extId, name, associations = [] }) {
    const users = await visibleReferrers(ctx, NicProfile.kind, extId, () => true)
    if (users.length > 0) throw inUse('NIC profile', name, await namesOf(ctx, users))
    if (associations.length === 0) return
    const nics = associations.map(({ nicName, hostExtId }) => `${nicName} of host ${hostExtId}`)
    throw inUse('NIC profile', name, nics)
  },
})

export const nicProfile = implement(
  nicProfileOperations,
  {
    createNicProfile: profiles.create,
    updateNicProfileById: profiles.update,
    deleteNicProfileById: profiles.remove,
    async associateHostNicToNicProfile(ctx, { body }) {
      const profile = ctx.target
      refuseWhileChanging('NIC profile', profile)
      const { host, nic } = await hostNicOf(ctx, body.hostNicExtId)
      await refuseUnfit(ctx, profile, host, nic)
      return begin(ctx, host, { hostNicExtId: nic.extId, hostExtId: host.extId, nicName: nic.name }, associate)
    },
    async disassociateHostNicFromNicProfile(ctx, { body }) {
      const profile = ctx.target
      refuseWhileChanging('NIC profile', profile)
      const association = profile.associations?.find(({ hostNicExtId }) => hostNicExtId === body.hostNicExtId)
      const host = association && (await ctx.store.get(Host, association.hostExtId))
      if (association === undefined || host === undefined || !(await mayRefer(ctx, Host, host)))
        throw refusal(`The host NIC ${body.hostNicExtId} is not associated with the NIC profile "${profile.name}".`)
      const users = await nicsServedBy(ctx.store, host.extId, association.hostNicExtId)
      if (users.length > 0) {
        const vms = await ctx.store.getMany(Vm, [...new Set(users.map(({ vmExtId }) => vmExtId))])
        const shown = await shownUsers(
          ctx,
          vms.map((entity) => ({ kind: Vm, entity })),
        )
        throw inUse('host NIC', association.nicName, shown)
      }
      await requireClusterReachable(ctx, host.cluster?.uuid)
      return begin(ctx, host, association, disassociate)
    },
  },
  {
    tasks: [...profiles.tasks, associate, disassociate],
    present: [[NicProfile, presentProfiles]],
    invariants: [{ promise: 'A host NIC has one NIC profile at most', look }],
  },
)

type HostEntity = EntityOf<typeof Host>

/** @throws ApiError 404 for a host NIC that the caller cannot see */
async function hostNicOf(
  ctx: WriteContext<ProfileEntity>,
  extId: string,
): Promise<{ readonly host: HostEntity; readonly nic: HostNicView }> {
  for (const host of await ctx.store.find(Host)) {
    const nic = ctx.drivers.networkFabric.hostNics(host.extId).find((each) => each.extId === extId)
    if (nic !== undefined && (await mayRefer(ctx, Host, host))) return { host, nic }
  }
  throw new ApiError('NETWORKING_REFERENCE_NOT_FOUND', {
    verb: 'associate',
    kind: NicProfile.title,
    name: ctx.target.name,
    referencedKind: 'HostNic',
    referencedExtId: extId,
  })
}

async function refuseUnfit(
  ctx: WriteContext<ProfileEntity>,
  profile: ProfileEntity,
  host: HostEntity,
  nic: HostNicView,
): Promise<void> {
  const { capabilityConfig, nicFamily } = profile
  const named = `The host NIC ${nic.name} of ${host.hostName}`
  await requireClusterReachable(ctx, host.cluster?.uuid)
  await requireSupport(ctx.store, host.cluster?.uuid, 'SUPPORTS_SRIOV')
  const { capabilities, pciModelId } = nic.model
  if (pciModelId !== nicFamily) throw refusal(`${named} is of the family ${pciModelId}, not ${nicFamily}.`)
  if (!capabilities.includes(capabilityConfig.capabilityType))
    throw refusal(`${named} does not support ${capabilityConfig.capabilityType}.`)
  const holder = await holderOf(ctx.store, nic.extId)
  if (holder !== undefined) throw refusal(`${named} has a NIC profile already, ${holder}.`)
  const user = await switchOf(ctx, host.extId, nic)
  if (user !== undefined) throw refusal(`${named} is an uplink of ${user}. Take it out first.`)
}

/** The id of the profile that has the host NIC, or is about to have it. */
async function holderOf(store: Reader, hostNicExtId: string): Promise<string | undefined> {
  const has = ({ associations = [], change }: ProfileEntity): boolean =>
    change?.hostNicExtId === hostNicExtId || associations.some((each) => each.hostNicExtId === hostNicExtId)
  return (await store.find(NicProfile)).find(has)?.extId
}

async function switchOf(
  ctx: WriteContext<ProfileEntity>,
  hostExtId: string,
  nic: HostNicView,
): Promise<string | undefined> {
  const { drivers, store } = ctx
  const bridge = drivers.networkFabric.bridges(hostExtId).find(({ uplinks }) => uplinks.includes(nic.name))
  if (bridge !== undefined) return `the bridge ${bridge.name}`
  const switches = await store.find(VirtualSwitch)
  const found = switches.find((each) => uplinkKeysOf(drivers, each).includes(`${hostExtId}/${nic.name}`))
  return found && `the ${await nameFor(ctx, VirtualSwitch, found)}`
}

async function begin(
  ctx: WriteContext<ProfileEntity>,
  host: HostEntity,
  association: Association,
  task: TaskDefinition<OfHostNic>,
): Promise<TaskStarted> {
  const { extId, name } = ctx.target
  const isAdded = task === associate
  const started = await ctx.startTask(
    task,
    { profileExtId: extId, association },
    {
      operation: isAdded ? 'AssociateHostNicToNicProfile' : 'DisassociateHostNicFromNicProfile',
      description: `${isAdded ? 'Associate' : 'Disassociate'} host NIC ${association.nicName} of ${host.hostName}`,
      affected: [
        { extId, name, rel: NicProfile.rel },
        { extId: host.extId, ...(host.hostName && { name: host.hostName }), rel: 'clustermgmt:config:host' },
      ],
      locks: [extId, association.hostNicExtId],
      ...(host.cluster?.uuid === undefined ? {} : { clusterExtIds: [host.cluster.uuid] }),
    },
  )
  const { hostNicExtId } = association
  await ctx.store.update(NicProfile, extId, { change: { taskExtId: started.extId, verb: 'update', hostNicExtId } })
  return started
}

async function nicsServedBy(
  store: Reader,
  hostExtId: string,
  hostNicExtId: string,
): Promise<readonly { readonly vmExtId: string; readonly nicExtId: string }[]> {
  const held = await store.findWhere(HostAllocation, { hostExtId })
  return held.flatMap(({ vmExtId, virtualFunctions = [] }) =>
    virtualFunctions.flatMap((taken) =>
      taken.hostNicExtId === hostNicExtId ? { vmExtId, nicExtId: taken.nicExtId } : [],
    ),
  )
}

async function presentProfiles(ctx: ReadContext, shown: readonly ProfileEntity[]): Promise<readonly ProfileEntity[]> {
  return Promise.all(
    shown.map(async ({ associations = [], ...profile }) => {
      const nics = await Promise.all(
        associations.map(async (each) => {
          const found = referenceTo(profile, each, ctx.drivers.networkFabric.hostNics(each.hostExtId))
          const served = await seenNics(ctx, each)
          return { ...found, ...(served.length > 0 && { associatedVmNicReferences: served }) }
        }),
      )
      return { ...profile, ...(nics.length > 0 && { hostNicReferences: nics }) }
    }),
  )
}

/** Without VMs that the caller may not see. */
async function seenNics(ctx: ReadContext, { hostExtId, hostNicExtId }: Association): Promise<string[]> {
  const seen: string[] = []
  for (const { vmExtId, nicExtId } of await nicsServedBy(ctx.store, hostExtId, hostNicExtId))
    if (await mayRefer(ctx, Vm, await ctx.store.get(Vm, vmExtId))) seen.push(nicExtId)
  return seen
}

function referenceTo(
  { extId: profileExtId, nicFamily }: ProfileEntity,
  { hostNicExtId: extId }: Association,
  nics: readonly HostNicView[],
): HostNicReference {
  const nic = nics.find((each) => each.extId === extId)
  if (nic === undefined) return { extId, complianceStatus: 'NIC_NOT_FOUND_ERROR' }
  if (nic.model.pciModelId !== nicFamily) return { extId, complianceStatus: 'NIC_PROFILE_MISMATCH_ERROR' }
  const { virtualFunctions } = nic
  if (virtualFunctions?.profileExtId !== profileExtId) return { extId, complianceStatus: 'NIC_PROFILE_NOT_FOUND_ERROR' }
  return { extId, complianceStatus: 'SUCCESS', numVFs: virtualFunctions.count }
}

async function* look(store: Reader): AsyncGenerator<Broken> {
  const holders = new Map<string, string>()
  for await (const { extId, name, associations = [] } of rowsOf(store, NicProfile))
    for (const { hostNicExtId, nicName } of associations) {
      const other = holders.get(hostNicExtId)
      if (other !== undefined) yield { about: [extId, other], fault: `${nicName} is in "${name}" and in ${other}` }
      holders.set(hostNicExtId, extId)
    }
}
