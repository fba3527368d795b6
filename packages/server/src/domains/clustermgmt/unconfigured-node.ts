/** Admission of questions about nodes of no cluster. Source: behaviour clustermgmt.md 1.3. */
import type { ValueOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { unconfiguredNodeOperations, type ValidateNodeParam } from '@hyperplane/contract/clustermgmt/unconfigured-node'
import { type ApiError, invalid } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { implement, type TaskDefinition, type WriteContext } from '../context.ts'
import { clusterTask } from './cluster-task.ts'
import { discoverNodes } from './topology/discovery.ts'
import { checkHypervisors } from './topology/hypervisors.ts'
import { fetchNetworking } from './topology/networking-details.ts'
import { givenFaults, hasAddress, requireNodeCluster } from './topology/nodes.ts'
import { NodeReservation } from './topology/reservations.ts'
import { validateBundle, validateUplinks } from './topology/validation.ts'

type Context = WriteContext<Cluster, never>
type Validation = ValueOf<typeof ValidateNodeParam>['spec']

export const unconfiguredNode = implement(
  unconfiguredNodeOperations,
  {
    discoverUnconfiguredNodes: (ctx, { body }) =>
      start(ctx, 'Discover Unconfigured Nodes', discoverNodes, { clusterExtId: ctx.target.extId, ...body }),
    fetchNodeNetworkingDetails: (ctx, { body }) =>
      start(ctx, 'Fetch Node Networking Details', fetchNetworking, { clusterExtId: ctx.target.extId, ...body }),
    validateNode: (ctx, { body: { spec } }) =>
      isUplinks(spec)
        ? start(ctx, 'Validate Node', validateUplinks, { clusterExtId: ctx.target.extId, nodes: spec })
        : start(ctx, 'Validate Node', validateBundle, { clusterExtId: ctx.target.extId, ...spec }),
    checkHypervisorRequirements: (ctx, { body }) =>
      start(ctx, 'Check Hypervisor Requirements', checkHypervisors, { clusterExtId: ctx.target.extId, ...body }),
  },
  {
    rules: {
      discoverUnconfiguredNodes: ({ body }) => [
        ...(body.addressType === 'IPV6' && body.isManualDiscovery === true && !body.interfaceFilterList?.length
          ? [invalid('interfaceFilterList', 'is required for a manual discovery of link-local addresses')]
          : []),
        ...(body.ipFilterList ?? []).flatMap((address, index) => addressFaults(address, `ipFilterList[${index}]`)),
      ],
      fetchNodeNetworkingDetails: ({ body: { nodeList } }) => [
        ...givenFaults(nodeList, 'nodeList'),
        ...nodeList.flatMap(({ cvmIp = {} }, index) => addressFaults(cvmIp, `nodeList[${index}]/cvmIp`)),
      ],
      validateNode: ({ body: { spec } }) =>
        isUplinks(spec)
          ? spec.flatMap(({ cvmIp }, index) => addressFaults(cvmIp, `spec[${index}]/cvmIp`))
          : [
              ...(spec.bundleInfo.name === undefined ? [invalid('spec/bundleInfo/name', 'is required')] : []),
              ...givenFaults(spec.nodeList, 'spec/nodeList'),
              ...unnamed(spec.nodeList, 'spec/nodeList'),
            ],
      checkHypervisorRequirements: ({ body: { nodeList } }) => [
        ...givenFaults(nodeList, 'nodeList'),
        ...unnamed(nodeList, 'nodeList'),
      ],
    },
    tasks: [checkHypervisors, discoverNodes, fetchNetworking, validateBundle, validateUplinks],
    records: [NodeReservation],
  },
)

const isUplinks = (spec: Validation): spec is Extract<Validation, readonly unknown[]> => Array.isArray(spec)

const addressFaults = (address: Parameters<typeof hasAddress>[0], path: string): ApiError[] =>
  hasAddress(address) ? [] : [invalid(path, 'expected ipv4 or ipv6, found neither')]

const unnamed = (nodes: readonly { readonly nodeUuid?: string | undefined; readonly cvmIp?: object }[], path: string) =>
  nodes.flatMap(({ nodeUuid, cvmIp }, index) =>
    nodeUuid === undefined && cvmIp === undefined ? [invalid(`${path}[${index}]/nodeUuid`, 'is required')] : [],
  )

/** Questions change nothing, so they wait for no task of the cluster. */
async function start<I>(
  ctx: Context,
  operation: string,
  definition: TaskDefinition<I>,
  input: I,
): Promise<TaskStarted> {
  requireNodeCluster(ctx, ctx.target, operation)
  return ctx.startTask(definition, input, { ...clusterTask(operation, ctx.target), locks: [] })
}
