/** Requests by which suites that cover every kind reach iSCSI clients. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type OrderCase, unknown } from '../kind.ts'

const group = `/config/volume-groups/${seedId('volume-group/vg-unused')}`

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'volumes.attachIscsiClient': {
    path: `${group}/$actions/attach-iscsi-client`,
    body: { extId: unknown },
    broken: { attachmentSite: 'PRIMARY' },
  },
}
