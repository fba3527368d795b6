/** Extensions in the vCenters of ESX clusters. Source: behaviour clustermgmt.md 1.16. */
import type { ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import {
  type VcenterCredentials,
  VcenterExtension,
  vcenterExtensionOperations,
} from '@hyperplane/contract/clustermgmt/vcenter-extension'
import { ApiError, invalid } from '../../core/api-error.ts'
import type { ManagementLogin } from '../../drivers/management-extensions.ts'
import {
  DriverError,
  defineTask,
  implement,
  type RecordContext,
  type Step,
  type StepContext,
  taskAbout,
  type WriteContext,
} from '../context.ts'
import { checkCluster, requireClusterReachable } from '../registrations/reachability.ts'

type Credentials = ValueOf<typeof VcenterCredentials>

interface Input {
  readonly extId: string
  readonly clusterExtId: string
  readonly login: ManagementLogin
}

const register = (ctx: StepContext, { clusterExtId, login }: Input): Promise<void> =>
  ctx.drivers.externalHypervisor.registerExtension(clusterExtId, login)
const unregister = (ctx: StepContext, { clusterExtId, login }: Input): Promise<void> =>
  ctx.drivers.externalHypervisor.unregisterExtension(clusterExtId, login)

const registerVcenter = defineTask<Input>({
  name: 'clustermgmt.register-vcenter',
  steps: stepsOf(true, register, unregister),
})
const unregisterVcenter = defineTask<Input>({
  name: 'clustermgmt.unregister-vcenter',
  steps: stepsOf(false, unregister, register),
})

type Call = typeof register

function stepsOf(isRegistered: boolean, change: Call, changeBack: Call): readonly Step<Input>[] {
  return [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      name: 'apply to the vCenter',
      progress: 90,
      seconds: [2, 5],
      run: (ctx, input) => change(ctx, input).catch(refuse),
      undo: (ctx, input) => changeBack(ctx, input),
    },
    {
      name: 'record',
      record: (ctx, input) => setRegistered(ctx, input, isRegistered),
      unrecord: (ctx, input) => setRegistered(ctx, input, !isRegistered),
    },
  ]
}

/** The reason is the answer of the vCenter, which quotes no credential. */
function refuse(cause: unknown): never {
  if (!(cause instanceof DriverError)) throw cause
  throw new ApiError('VCENTER_REFUSED', { reason: cause.message }, { cause })
}

export const vcenterExtension = implement(
  vcenterExtensionOperations,
  {
    async registerVcenterExtension(ctx, { body }) {
      const { isRegistered, ipAddress: address = '' } = ctx.target
      if (isRegistered === true) throw new ApiError('VCENTER_ALREADY_REGISTERED', { address })
      return start(ctx, body, registerVcenter, 'Register vCenter Extension')
    },
    async unregisterVcenterExtension(ctx, { body }) {
      const { isRegistered, ipAddress: address = '' } = ctx.target
      if (isRegistered !== true) throw new ApiError('VCENTER_NOT_REGISTERED', { address })
      return start(ctx, body, unregisterVcenter, 'Unregister vCenter Extension')
    },
  },
  {
    rules: {
      registerVcenterExtension: ({ body }) => passwordFaults(body),
      unregisterVcenterExtension: ({ body }) => passwordFaults(body),
    },
    tasks: [registerVcenter, unregisterVcenter],
  },
)

const passwordFaults = ({ password }: Credentials): ApiError[] =>
  password === undefined ? [invalid('password', 'is required')] : []

async function start(
  ctx: WriteContext<VcenterExtension>,
  { username, password = '', port = 443 }: Credentials,
  task: typeof registerVcenter,
  operation: string,
): Promise<{ readonly extId: string }> {
  const { extId, clusterExtId = '', ipAddress = '' } = ctx.target
  await requireClusterReachable(ctx, clusterExtId)
  if (ctx.services.runner.queueLength(extId) > 0)
    throw new ApiError('CONFLICT', {
      fault: `A task changes the extension of the vCenter ${ipAddress}. Wait for it, then retry.`,
    })
  const options = taskAbout(operation, VcenterExtension, { extId, name: ipAddress }, clusterExtId)
  return ctx.startTask(task, { extId, clusterExtId, login: { username, password, port } }, options)
}

async function setRegistered(
  { store }: RecordContext,
  { extId, clusterExtId }: Input,
  isRegistered: boolean,
): Promise<void> {
  if (!(await store.has(VcenterExtension, extId))) return
  await store.update(VcenterExtension, extId, { isRegistered })
  const cluster = await store.get(Cluster, clusterExtId)
  const managementServer = cluster?.network?.managementServer
  if (cluster === undefined || managementServer === undefined) return
  await store.observe(Cluster, clusterExtId, {
    network: { ...cluster.network, managementServer: { ...managementServer, isRegistered, isInUse: isRegistered } },
  })
}
