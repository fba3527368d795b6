/** Whether VMs may run on a host; not stored. Source: catalogue networking.json; behaviour networking.md 1.18, 2. */
import { list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { switchReaders } from './virtual-switch.ts'

/** Has the id of the host. */
export const NodeSchedulableStatus = resource('networking.v4.config.NodeSchedulableStatus', {
  fields: {
    /** The host only stores data. */
    isNeverSchedulable: s.readOnly(s.boolean()),
  },
  title: 'schedulable status of a node',
  iamNoun: 'Node_Schedulable_Status',
  derived: true,
})

export const nodeSchedulableStatusOperations = {
  listNodeSchedulableStatus: list('/config/node-schedulable-statuses', NodeSchedulableStatus, {
    roles: switchReaders,
    envelope: 'networking.v4.config.ListNodeSchedulableStatusesApiResponse',
    clusterId: 'optional',
    filter: ['extId', 'isNeverSchedulable'],
    orderby: ['extId', 'isNeverSchedulable'],
  }),
}
