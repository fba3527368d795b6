/** A VM with APC runs only on hosts with the clock rate of its model. Source: behaviour vmm.md 1.1 (APC), 3.2. */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../core/api-error.ts'
import { seedId } from '../../core/ids/named-id.ts'
import type { Reader } from '../../store/store.ts'
import type { VmBody, VmEntity } from '../virtual-machines/entity.ts'

export interface CpuModel {
  readonly extId: string
  readonly name: string
  readonly hertz: number
}

/** Ascending by clock rate; among hosts with one model the lowest rate counts. */
export async function cpuModelsOf(store: Reader, clusterExtId: string): Promise<readonly CpuModel[]> {
  const models = new Map<string, CpuModel>()
  for (const { cpuModel: name, cpuFrequencyHz: hertz = 0 } of await store.findWhere(Host, {
    'cluster/uuid': clusterExtId,
  })) {
    if (name === undefined || (models.get(name)?.hertz ?? hertz + 1) <= hertz) continue
    models.set(name, { extId: seedId(`cpu-model/${name}`), name, hertz })
  }
  return [...models.values()].sort((a, b) => a.hertz - b.hertz || (a.name < b.name ? -1 : 1))
}

/** Default: the model with the lowest clock rate. @throws ApiError 404 when no host of the cluster has the model */
export async function apcConfigOf(
  store: Reader,
  { apcConfig }: VmBody,
  clusterExtId: string,
): Promise<NonNullable<VmEntity['apcConfig']>> {
  if (apcConfig?.isApcEnabled !== true) return { isApcEnabled: false }
  const { extId, name } = apcConfig.cpuModel ?? {}
  const found = (await cpuModelsOf(store, clusterExtId)).find(
    (model) => (extId === undefined || model.extId === extId) && (name === undefined || model.name === name),
  )
  if (found === undefined) {
    const id = extId ?? name ?? 'of the lowest host'
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind: 'CPU model', id, attribute: 'apcConfig/cpuModel' })
  }
  return { isApcEnabled: true, cpuModel: { extId: found.extId, name: found.name } }
}

/** Undefined: every host may run the VM. */
export async function baselineOf(store: Reader, { apcConfig, cluster }: VmEntity): Promise<CpuModel | undefined> {
  const name = apcConfig?.isApcEnabled === true ? apcConfig.cpuModel?.name : undefined
  if (name === undefined) return undefined
  return (await cpuModelsOf(store, cluster?.extId as string)).find((model) => model.name === name)
}
