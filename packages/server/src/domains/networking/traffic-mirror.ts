/** Source: behaviour networking.md 1.16, 1.22. */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { TrafficMirror, trafficMirrorOperations } from '@hyperplane/contract/networking/traffic-mirror'
import type { MirrorProgram } from '../../drivers/traffic-mirroring.ts'
import { bodyRules, implement, type ReadContext } from '../context.ts'
import { limit } from '../limits.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'
import { type MirrorPlace, placeFor, refuseSharedDestinations } from './traffic-mirror-place.ts'
import { type MirrorBody, type MirrorEntity, mirrorFaults } from './traffic-mirror-rules.ts'

/** Source: behaviour networking.md 3.5. */
const maximumMirrors = limit('trafficMirrorsOfHost', 4)

const mirrors = lifecycle<MirrorEntity, MirrorBody, MirrorPlace>(TrafficMirror, {
  phases: [
    {
      create: ['mirror on host', 100, [0.4, 0.9]],
      update: ['mirror on host', 100, [0.4, 0.9]],
      delete: ['remove mirror', 100, [0.4, 0.9]],
      program: ({ drivers }, mirror) => drivers.networkFabric.programMirror(mirrorProgram(mirror)),
      remove: ({ drivers }, { extId }) => drivers.networkFabric.removeMirror(extId),
    },
  ],
  resolve: placeFor,
  async configure(ctx, { references: { host, clusterExtId }, entity, stored }) {
    const others = (await ctx.store.find(TrafficMirror)).filter(({ extId }) => extId !== entity.extId)
    await refuseSharedDestinations(ctx, entity, others)
    const onHost = others.filter(
      ({ hostExtId, change }) => hostExtId === host.extId || change?.hostExtId === host.extId,
    )
    refuseBeyond(ctx, maximumMirrors, `Traffic mirrors of the host ${host.hostName ?? host.extId}`, onHost.length + 1)
    return {
      ...{ hostExtId: host.extId, clusterExtId },
      ...{ hostReferenceList: [host.extId], clusterReferenceList: [clusterExtId] },
      ...(stored === undefined && { createdAt: ctx.clock.iso() }),
    }
  },
  async task({ store }, { hostExtId, clusterExtId }) {
    const host = await store.get(Host, hostExtId!)
    return {
      clusterExtIds: [clusterExtId!],
      affected: host === undefined ? [] : [{ extId: host.extId!, name: host.hostName ?? '', rel: Host.rel }],
    }
  },
  unique: {
    fields: ['name'],
    among: ({ store }) => store.find(TrafficMirror),
    text: () => 'name',
  },
})

export const trafficMirror = implement(
  trafficMirrorOperations,
  {
    createTrafficMirror: mirrors.create,
    updateTrafficMirrorById: mirrors.update,
    deleteTrafficMirrorById: mirrors.remove,
  },
  {
    rules: bodyRules('createTrafficMirror, updateTrafficMirrorById', mirrorFaults),
    tasks: mirrors.tasks,
    present: [[TrafficMirror, presentMirrors]],
    limits: [maximumMirrors],
  },
)

export const mirrorProgram = ({
  extId,
  hostExtId,
  isEnabled,
  sourceList,
  destinationList,
  virtualSwitchReference,
}: MirrorEntity): MirrorProgram => {
  const hostNics = [...sourceList, ...destinationList].filter(({ nicType }) => nicType === 'HOST_NIC')
  return {
    ...{ extId, hostExtId: hostExtId!, isEnabled: isEnabled !== false },
    sources: sourceList.map(({ nicUuid: nicExtId, direction }) => ({ nicExtId, direction })),
    destinations: destinationList.map(({ nicUuid }) => nicUuid),
    ...(hostNics.length > 0 && { hostNics: hostNics.map(({ nicUuid }) => nicUuid) }),
    isRemote: virtualSwitchReference !== undefined,
  }
}

async function presentMirrors(ctx: ReadContext, shown: readonly MirrorEntity[]): Promise<readonly MirrorEntity[]> {
  return Promise.all(
    shown.map(async (mirror) => {
      const view = await ctx.drivers.networkFabric.mirror(mirror.extId)
      const { state = mirror.isEnabled === false ? 'DISABLED' : 'ERROR', message, upNics } = view ?? {}
      const isUp = (nicUuid: string): boolean => upNics?.has(nicUuid) === true
      return {
        ...mirror,
        sourceList: mirror.sourceList.map((port) => ({ ...port, isUp: isUp(port.nicUuid) })),
        destinationList: mirror.destinationList.map((port) => ({ ...port, isUp: isUp(port.nicUuid) })),
        state,
        ...(state === 'ERROR' && { stateMessage: message ?? 'the mirror is not on its host yet' }),
      }
    }),
  )
}
