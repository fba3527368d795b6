/** Source: behaviour clustermgmt.md 1.3 (checkHypervisorRequirements). */
import type { ValueOf } from '@hyperplane/contract'
import type { HypervisorUploadInfo } from '@hyperplane/contract/clustermgmt/task-response'
import type { HypervisorUploadParam } from '@hyperplane/contract/clustermgmt/unconfigured-node'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { NodeBundle } from '../../../drivers/nodes.ts'
import { DriverError, defineTask } from '../../context.ts'
import { disagreements, isModelSupported, needsImaging, nodeNamed, refuseWith } from './nodes.ts'
import { keepResult } from './task-results.ts'

type Params = ValueOf<typeof HypervisorUploadParam>
type Info = ValueOf<typeof HypervisorUploadInfo>

/** @throws DriverError, retryable, while no member of the cluster answers */
export function bundleFor({ hardware }: Drivers, clusterExtId: string): NodeBundle {
  const bundle = hardware.imageOf(clusterExtId)
  if (bundle === undefined) throw DriverError.retryable('no host of the cluster answers')
  return bundle
}

export const checkHypervisors = defineTask<Params & { readonly clusterExtId: string }>({
  name: 'clustermgmt.check-hypervisor-requirements',
  steps: [
    {
      name: 'check hypervisors',
      seconds: [5, 12],
      run: async ({ drivers }, { clusterExtId, nodeList }) => {
        const bundle = bundleFor(drivers, clusterExtId)
        const discovered = drivers.hardware.unconfiguredNodes(Number.POSITIVE_INFINITY)
        const faults: string[] = []
        const uploadInfoNodeList = nodeList.flatMap((given, index) => {
          const path = `nodeList[${index}]`
          const node = nodeNamed(discovered, given)
          if (node === undefined) {
            faults.push(`${path}/nodeUuid: expected a node that can be discovered, found ${given.nodeUuid}`)
            return []
          }
          faults.push(...disagreements(node, given, path))
          const isImagingMandatory = needsImaging(node, bundle)
          return {
            nodeUuid: node.nodeUuid,
            bundleName: bundle.name,
            md5Sum: bundle.md5Sum,
            requiredHypervisorType: bundle.hypervisor.type,
            isImagingMandatory,
            isHypervisorUploadRequired: isImagingMandatory && bundle.isUploaded,
            isNodeCompatible: isModelSupported(node),
          }
        })
        refuseWith(faults)
        return { uploadInfoNodeList }
      },
      record: (ctx, _, info: Info) => keepResult(ctx, 'HYPERVISOR_UPLOAD_INFO', info),
    },
  ],
})
