/** How often a random walk sends each request that the files of kinds export. */
import { walkRequests } from '../../kinds/collected.ts'

/** Requests that many others depend on, or interfere with, are sent more often. */
const often = [
  ...['createVm', 'powerOnVm', 'deleteVm', 'renameVm', 'attachVm', 'createVolumeGroup', 'cancelTask'],
  ...['createVm', 'powerOnVm', 'powerOffVm', 'createSubnet', 'reserveAddresses', 'deleteVolumeGroup'],
]
const missing = often.filter((name) => !(name in walkRequests))
if (missing.length > 0) throw new Error(`no file of test/kinds exports the walk requests ${missing.join(', ')}`)

export const requestNames: readonly string[] = [...Object.keys(walkRequests), ...often]
