/** Source: behaviour networking.md 1.12, 3.3. */
import { layer2StretchStatsOperations } from '@hyperplane/contract/networking/layer2-stretch-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { parseTime } from '../../core/time/clock.ts'
import { implement } from '../context.ts'
import { nativeSubjects } from '../statistics/native.ts'
import { sampledAnswer, samplingOf, seriesOf, timesOf } from '../statistics/samples.ts'
import { nicsOn } from './subnet-nics.ts'

const names = ['rtt', 'throughputRxKbps', 'throughputTxKbps'] as const

export const layer2StretchStats = implement(layer2StretchStatsOperations, {
  async getLayer2StretchStats(ctx, request) {
    const { extId, createdAt, subnetExtId = '' } = ctx.target
    const sampling = samplingOf(ctx, request, (parseTime(createdAt ?? '') ?? 0) / 1000)
    const nics = Map.groupBy(await nicsOn(ctx.store, subnetExtId), ({ vmExtId }) => vmExtId)
    const subjects = await nativeSubjects(ctx, await ctx.store.getMany(Vm, [...nics.keys()]))
    const members = subjects.map(({ vm }) => ({ vm, nics: nics.get(vm.extId)!.length }))
    const readings = await ctx.drivers.telemetry.readStretch(extId, members, timesOf(sampling))
    const { rtt, throughputRxKbps, throughputTxKbps } = seriesOf(sampling, readings, names)
    return sampledAnswer(request, {
      ...{ extId, statType: sampling.type },
      ...{ rtt: inText(rtt), throughputRxKbps: inText(throughputRxKbps), throughputTxKbps: inText(throughputTxKbps) },
    })
  },
})

/** Readings are tenths. */
const inText = (tenths: readonly number[]): string[] => tenths.map((value) => String(value / 10))
