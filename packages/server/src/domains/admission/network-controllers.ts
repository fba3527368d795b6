/** Source: behaviour networking.md 1.1 (CAPABILITY_NOT_SUPPORTED), 1.20. */
import type { EntityOf, Operation } from '@hyperplane/contract'
import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { ApiError } from '../../core/api-error.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import type { NodeSize } from '../scheduling/manager-nodes.ts'
import { gateOf } from './gates.ts'

export type ControllerEntity = EntityOf<typeof NetworkController>

const retryAfterSeconds = 5

/** Undefined also while the controller is being created or deleted. */
export async function controllerOf(store: Reader): Promise<ControllerEntity | undefined> {
  const [controller] = await store.find(NetworkController, { limit: 1 })
  const { verb } = controller?.change ?? {}
  return verb === 'create' || verb === 'delete' ? undefined : controller
}

/** @throws ApiError 409 without a controller */
export async function requireController(store: Reader, capability: string): Promise<ControllerEntity> {
  const controller = await controllerOf(store)
  if (controller === undefined) throw new ApiError('CAPABILITY_NOT_SUPPORTED', { capability })
  return controller
}

/** @param subjects body and target of the request @throws ApiError 503 with Retry-After while the controller is down */
export async function requireControllerUp(
  ctx: { readonly store: Reader; readonly drivers: Pick<Drivers, 'networkFabric'> },
  operation: Operation,
  ...subjects: readonly unknown[]
): Promise<void> {
  if (gateOf(operation, ...subjects)?.networkController !== true) return
  const controller = await controllerOf(ctx.store)
  if (controller === undefined) return
  if ((await ctx.drivers.networkFabric.controllerState(controller.extId)) !== 'DOWN') return
  const error = new ApiError('NETWORK_CONTROLLER_DOWN')
  error.headers['Retry-After'] = String(retryAfterSeconds)
  throw error
}

export async function controllerResources(store: Reader): Promise<NodeSize> {
  const [controller] = await store.find(NetworkController, { limit: 1 })
  return controller?.growth ?? { vcpus: 0, memoryBytes: 0 }
}
