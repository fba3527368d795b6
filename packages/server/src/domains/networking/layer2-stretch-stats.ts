/** Source: behaviour networking.md 1.12, 3.3. */
import { layer2StretchStatsOperations } from '@hyperplane/contract/networking/layer2-stretch-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { parseTime } from '../../core/time/clock.ts'
import type { StretchReading } from '../../drivers/telemetry.ts'
import { applySelection } from '../../odata/index.ts'
import { implement } from '../context.ts'
import { nativeSubjects } from '../statistics/native.ts'
import { combined, samplingOf } from '../statistics/samples.ts'
import { nicsOn } from './subnet-nics.ts'

export const layer2StretchStats = implement(layer2StretchStatsOperations, {
  async getLayer2StretchStats(ctx, request) {
    const { extId, createdAt, subnetExtId = '' } = ctx.target
    const sampling = samplingOf(ctx, request, (parseTime(createdAt ?? '') ?? 0) / 1000)
    const { limit, page, select } = request.query
    const samples = sampling.samples.slice(page * limit, (page + 1) * limit)
    const nics = Map.groupBy(await nicsOn(ctx.store, subnetExtId), ({ vmExtId }) => vmExtId)
    const subjects = await nativeSubjects(ctx, await ctx.store.getMany(Vm, [...nics.keys()]))
    const members = subjects.map(({ vm }) => ({ vm, nics: nics.get(vm.extId)!.length }))
    const times = samples.flatMap((sample) => sample.times.map((time) => time * 1000))
    const readings = await ctx.drivers.telemetry.readStretch(extId, members, times)
    const series = (field: keyof StretchReading): string[] => {
      let next = 0
      return samples.map(({ times, weight }) => {
        const own = readings.slice(next, next + times.length).map((reading) => reading[field])
        next += times.length
        return inText(combined(sampling.type, own, weight))
      })
    }
    const stats = {
      ...{ extId, statType: sampling.type },
      rtt: series('tenthMillis'),
      throughputRxKbps: series('receivedTenthKbps'),
      throughputTxKbps: series('transmittedTenthKbps'),
    }
    return select === undefined ? stats : { ...applySelection(select, stats), extId, statType: sampling.type }
  },
})

const inText = (tenths: number): string => String(tenths / 10)
