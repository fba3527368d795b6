/** Products: enabling one takes resources and permits mutations of certain kinds. Source: behaviour platform.md 5. */
import { DomainManager, registeredRel } from '@hyperplane/contract/platform/domain-manager'
import { Product, type ProductName, productOperations } from '@hyperplane/contract/platform/product'
import { ApiError } from '../../core/api-error.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { products, usersOfProduct } from '../admission/products.ts'
import { defineTask, implement, type Plan, parentOf } from '../context.ts'
import { growNodes, growthShortfall, type NodeSize } from '../scheduling/manager-nodes.ts'
import { requireOwn } from './own-manager.ts'

interface Input {
  readonly extId: string
  readonly name: ProductName
  readonly enablementState: Product['enablementState']
  readonly growth?: NodeSize
  readonly nodeExtIds: readonly string[]
  readonly metadata?: Product['metadata']
}

interface Asking<S extends Reader = Reader> {
  readonly store: S
  readonly drivers: Pick<Drivers, 'hardware' | 'networkFabric'>
}

export const updateProduct = defineTask<Input>({
  name: 'platform.update-product',
  cancelableUntil: 'resources',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async (ctx, input) => {
        const [problem] = await problemsOf(ctx, input)
        if (problem !== undefined) throw problem
      },
      // No undo: the step only reads.
    },
    {
      name: 'resources',
      progress: 30,
      record: async (ctx, input) => {
        if (!isGrowing(input)) return
        // A concurrent change may have used the resources since the request was accepted.
        const shortfall = await growthShortfall(ctx, input.nodeExtIds, input.growth)
        if (shortfall !== undefined) throw noRoom(input.name, shortfall)
        await growNodes(ctx.store, input.nodeExtIds, input.growth)
      },
      unrecord: async (ctx, input) => {
        if (isGrowing(input)) await growNodes(ctx.store, input.nodeExtIds, negative(input.growth))
      },
    },
    {
      name: 'service',
      progress: 80,
      seconds: [120, 280],
      // This step only takes time: the services of products are part of this process.
      record: async () => undefined,
    },
    {
      name: 'health',
      record: async (ctx, input) => {
        const users = input.enablementState === 'DISABLED' ? await usersOfProduct(ctx.store, input.name) : undefined
        if (input.growth !== undefined && users !== undefined) throw inUse(input.name, users)
        if (input.growth !== undefined && !isGrowing(input)) await growNodes(ctx.store, input.nodeExtIds, input.growth)
        await settle(ctx.store, input, ctx.clock.iso())
      },
    },
  ],
  plan: async (ctx, input): Promise<Plan> => {
    const stored = await ctx.store.get(Product, input.extId)
    const { growth, enablementState } = input
    const size = (sign: number) => `${sign * (growth?.vcpus ?? 0)} vCPUs, ${sign * (growth?.memoryBytes ?? 0)} bytes`
    return {
      changes:
        growth === undefined
          ? []
          : [
              { attribute: 'enablementState', from: stored?.enablementState ?? '', to: enablementState },
              { attribute: 'resources of each node of the manager', from: size(0), to: `changed by ${size(1)}` },
            ],
      problems: (await problemsOf(ctx, input)).map(({ appMessage }) => appMessage),
    }
  },
  // Raise the version: an entity tag that was read during the task must not match.
  onUndone: (ctx, { extId }) => ctx.store.touch(Product, extId),
})

export const product = implement(
  productOperations,
  {
    async updateProductById(ctx, { body }) {
      const manager = parentOf(ctx, 'domainManagerExtId', DomainManager)
      requireOwn(manager, 'domainManagerExtId')
      const stored = ctx.target
      const name = stored.name as ProductName
      const isChange = body.enablementState !== stored.enablementState
      const { cpuCount, memorySizeBytes } = products[name]
      const added = { vcpus: cpuCount, memoryBytes: memorySizeBytes }
      const input: Input = {
        extId: stored.extId,
        name,
        enablementState: body.enablementState,
        nodeExtIds: manager.nodeExtIds ?? [],
        ...(isChange ? { growth: body.enablementState === 'ENABLED' ? added : negative(added) } : {}),
        ...(body.metadata === undefined ? {} : { metadata: body.metadata }),
      }
      requireSubstrate(input)
      if (!ctx.dryRun) {
        const [problem] = await problemsOf(ctx, input)
        if (problem !== undefined) throw problem
      }
      await ctx.store.touch(Product, stored.extId)
      return ctx.startTask(updateProduct, input, {
        operation: 'updateProduct',
        description: `${body.enablementState === 'ENABLED' ? 'Enable' : 'Disable'} ${name}`,
        affected: [
          { extId: stored.extId, name, rel: 'platform:management:product' },
          { extId: manager.extId, name: manager.config.name, rel: registeredRel },
        ],
        // Product changes run in sequence: each checks the manager's resources.
        locks: [stored.extId, `${manager.extId}/products`],
      })
    },
  },
  { tasks: [updateProduct] },
)

const isGrowing = (input: Input): input is Input & { readonly growth: NodeSize } =>
  input.growth !== undefined && input.enablementState === 'ENABLED'

const negative = ({ vcpus, memoryBytes }: NodeSize): NodeSize => ({ vcpus: -vcpus, memoryBytes: -memoryBytes })

const noRoom = (product: ProductName, shortfall: string): ApiError =>
  new ApiError('PRODUCT_DOES_NOT_FIT', { product, shortfall })

const inUse = (name: ProductName, users: string): ApiError =>
  new ApiError('ENTITY_IN_USE', { kind: 'product', name, users })

async function problemsOf(ctx: Asking, input: Input): Promise<ApiError[]> {
  if (input.growth === undefined) return []
  if (isGrowing(input)) {
    const shortfall = await growthShortfall(ctx, input.nodeExtIds, input.growth)
    return shortfall === undefined ? [] : [noRoom(input.name, shortfall)]
  }
  const users = await usersOfProduct(ctx.store, input.name)
  return users === undefined ? [] : [inUse(input.name, users)]
}

/** The network controller needs a cluster and a subnet. The pipeline has checked that they exist. */
function requireSubstrate({ name, enablementState, growth, metadata }: Input): void {
  if (name !== 'FLOW_CONTROLLER' || enablementState !== 'ENABLED' || growth === undefined) return
  const given = metadata as { clusterExtId?: string; subnetExtId?: string } | undefined
  if (given?.clusterExtId !== undefined && given.subnetExtId !== undefined) return
  throw new ApiError('INVALID_ARGUMENT', {
    attributePath: 'metadata',
    fault: 'expected a FlowControllerMetadata with clusterExtId and subnetExtId',
  })
}

async function settle(store: Transaction, input: Input, now: string): Promise<void> {
  const { metadata, enablementState, growth } = input
  await store.update(Product, input.extId, {
    metadata,
    lastModifiedTime: now,
    ...(growth === undefined
      ? {}
      : {
          enablementState,
          resizeTime: now,
          serviceEnablementTime: enablementState === 'ENABLED' ? now : undefined,
        }),
  } as Partial<Product>)
  const product = await store.get(Product, input.extId)
  if (growth !== undefined && product?.domainManagerExtId !== undefined)
    await store.touch(DomainManager, product.domainManagerExtId)
}
