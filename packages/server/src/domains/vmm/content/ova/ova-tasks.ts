/** Tasks that create, rename and delete OVAs. Source: behaviour vmm.md 1.11, 1.16, 3.6. */
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import { rowWithId } from '../../../../core/standard.ts'
import type { Services } from '../../../../core/world.ts'
import type { ObjectOrigin, Transfer, UrlAccess } from '../../../../drivers/content-source.ts'
import type { DiskFormat, FrozenDisk, OvaFile, Written } from '../../../../drivers/ova-files.ts'
import type { Reader } from '../../../../store/store.ts'
import { claimsOn } from '../../../block-volumes/attachments.ts'
import { DriverError, defineTask, type RecordContext, type Step, type StepContext } from '../../../context.ts'
import { limit, limitOf } from '../../../limits.ts'
import { safeName } from '../file-answer.ts'
import { requireImageRoom } from '../image/image-space.ts'
import { objectOf, pathOf, reading } from '../object-source.ts'
import { transferTo } from '../rate-limits.ts'
import { accessOf } from '../url-source.ts'
import { readArchive } from './read-archive.ts'
import { type Described, OvaFault } from './read-ovf.ts'
import { type Captured, captured, type OvaEntity } from './vm-config.ts'
import { textsOf } from './write-ovf.ts'

export const maximumOvas = limit('ovas', 2000)

interface OfOva {
  readonly extId: string
}

const sourceRead = 20
const written = 90

interface ExportedVm extends OfOva {
  readonly vmExtId: string
  readonly format: DiskFormat
  /** The VM is unknown, or its caller may not refer to it. */
  readonly isAbsent?: true
}

export const createOvaOfVm = defineTask<ExportedVm>({
  name: 'vmm.create-ova-of-vm',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'freeze',
      progress: sourceRead,
      run: async (ctx, { extId, vmExtId, format, isAbsent }): Promise<Frozen> => {
        const ova = await pendingOva(ctx, extId)
        const vm = isAbsent === true ? undefined : await ctx.store.get(Vm, vmExtId)
        if (vm === undefined) throw new ApiError('OVA_SOURCE_VM_ABSENT', { name: ova.name, id: vmExtId })
        const { vmConfig, disks } = captured(vm)
        const baseName = safeName(ova.name).replace(/^\.+/, '').slice(0, 80) || 'vm'
        const wanted = disks.map((disk, index) => ({
          ...disk,
          format,
          name: `${baseName}-disk${index + 1}.${format.toLowerCase()}`,
        }))
        const files = await ctx.drivers.ovaFiles.freeze(onlyFileOf(ova), wanted)
        return { baseName, vmConfig, files }
      },
      record: async (ctx, { extId, vmExtId, format }, { vmConfig, files }: Frozen) => {
        if ((await claimsOn(ctx.store, 'Vm', vmExtId)).length > 0)
          ctx.warn(`The volume groups of VM ${vmConfig.name} are not part of the OVA.`)
        const diskFiles = files.map(({ name }) => name)
        await ctx.store.observe(Ova, extId, { vmConfig, diskFormat: format, parentVm: vmConfig.name, diskFiles })
      },
      undo: removeFiles,
    },
    {
      name: 'write archive',
      progress: written,
      run: async (ctx, { extId, format }) => {
        const ova = await pendingOva(ctx, extId)
        const frozen = ctx.outputs['freeze'] as Frozen
        await requireImageRoom(ctx, ova.clusterLocationExtIds ?? [], sum(frozen.files))
        const file = onlyFileOf(ova)
        const { sizeBytes } = await ctx.drivers.ovaFiles.write(
          file,
          textsOf({ ...frozen, format }),
          transferOf(ctx, file, (share) => sourceRead + (written - sourceRead) * share),
        )
        return { sizeBytes, checksum: await checksumOf(ctx, file) }
      },
      record: async (ctx, { extId }, measured: Measured) => {
        await ctx.store.observe(Ova, extId, measured)
      },
      // No undo: the rollback of `freeze` deletes the file.
    },
    storing(),
  ],
  onUndone: removeRow,
})

interface Frozen extends Pick<Captured, 'vmConfig'> {
  readonly baseName: string
  readonly files: readonly FrozenDisk[]
}

type Measured = Pick<OvaEntity, 'checksum' | 'sizeBytes'>

export const createOvaOfUrl = defineTask<OfOva>({
  name: 'vmm.create-ova-of-url',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'fetch',
      progress: sourceRead,
      run: async (ctx, { extId }) => {
        const ova = await pendingOva(ctx, extId)
        const first = filesOf(ova)[0] as OvaFile
        const transfer = transferOf(ctx, first, (share) => sourceRead * share)
        const origin = objectOf(Ova.kind, ova.source) ?? (accessOf(ctx.secrets, Ova.kind, ova) as UrlAccess)
        return uploaded(ova, () =>
          reading(ctx, origin, async () => {
            if ('bucket' in origin) await requireRoomFor(ctx, ova, origin)
            return ctx.drivers.ovaFiles.fetch(first, origin, transfer)
          }),
        )
      },
      record: async (ctx, { extId }, { sizeBytes }: Written) => {
        await ctx.store.observe(Ova, extId, { sizeBytes })
      },
      undo: removeFiles,
    },
    {
      name: 'write archive',
      progress: written,
      run: async (ctx, { extId }): Promise<Pick<OvaEntity, 'checksum'> & Described> => {
        const ova = await pendingOva(ctx, extId)
        await requireImageRoom(ctx, ova.clusterLocationExtIds ?? [], ova.sizeBytes ?? 0)
        const [first, ...others] = filesOf(ova) as [OvaFile, ...OvaFile[]]
        if (ova.checksum !== undefined) await requireChecksum(ctx, first, ova.checksum.hexDigest.toLowerCase())
        const described = await uploaded(ova, () => readArchive(ctx.drivers.ovaFiles.read(first)))
        const step = (written - sourceRead) / others.length
        for (const [index, file] of others.entries()) {
          const transfer = transferOf(ctx, file, (share) => sourceRead + (index + share) * step)
          await ctx.drivers.ovaFiles.copy(first, file, transfer)
        }
        return { ...described, checksum: ova.checksum ?? (await checksumOf(ctx, first)) }
      },
      record: async (ctx, { extId }, { checksum, vmConfig, disks }: Pick<OvaEntity, 'checksum'> & Described) => {
        const [diskFormat] = disks.map(({ format }) => format)
        await ctx.store.observe(Ova, extId, {
          checksum,
          vmConfig,
          parentVm: vmConfig.name,
          diskFiles: disks.map(({ fileName }) => fileName),
          ...(diskFormat === undefined ? {} : { diskFormat }),
        })
      },
      // No undo: the rollback of `fetch` deletes the files.
    },
    storing(),
  ],
  onUndone: removeRow,
})

function storing<I extends OfOva>(): Step<I> {
  return {
    name: 'store',
    record: async (ctx, { extId }) => {
      const { clusterLocationExtIds = [], sizeBytes = 0 } = await pendingOva(ctx, extId)
      await requireRoomForOva(ctx)
      await requireImageRoom(ctx, clusterLocationExtIds, sizeBytes)
      await ctx.store.observe(Ova, extId, { lastUpdateTime: ctx.clock.iso() })
      await ctx.store.publish(Ova, extId)
    },
  }
}

export const updateOva = defineTask<OfOva & { readonly name: string }>({
  name: 'vmm.update-ova',
  steps: [
    {
      name: 'store',
      record: async (ctx, { extId, name }) => {
        await storedOva(ctx.store, extId)
        await ctx.store.update(Ova, extId, { name, lastUpdateTime: ctx.clock.iso() })
      },
    },
  ],
})

export const deleteOva = defineTask<OfOva>({
  name: 'vmm.delete-ova',
  pointOfNoReturn: 'remove file',
  steps: [
    {
      name: 'recheck',
      progress: 5,
      record: async (ctx, { extId }) => {
        await storedOva(ctx.store, extId)
      },
    },
    {
      name: 'remove file',
      progress: 90,
      // VMs that were deployed from the OVA keep their disks.
      run: async (ctx, { extId }) => {
        const ova = await ctx.store.get(Ova, extId)
        if (ova !== undefined) for (const file of filesOf(ova)) await ctx.drivers.ovaFiles.remove(file)
      },
    },
    { name: 'remove row', record: (ctx, { extId }) => ctx.store.remove(Ova, extId) },
  ],
})

/** Does not count OVAs in creation, so their tasks check again. @throws ApiError VMM_LIMIT_EXCEEDED */
export async function requireRoomForOva(ctx: {
  readonly store: Reader
  readonly services: Pick<Services, 'limits'>
}): Promise<void> {
  const found = (await ctx.store.count(Ova)) + 1
  const maximum = limitOf(ctx, maximumOvas)
  if (found > maximum) throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'OVAs', maximum, found })
}

const sum = (files: readonly FrozenDisk[]): number => files.reduce((bytes, file) => bytes + file.sizeBytes, 0)

const pendingOva = async (ctx: { readonly store: Reader }, extId: string): Promise<OvaEntity> =>
  (await ctx.store.pending(Ova, extId)) as OvaEntity

/** @throws ApiError 404 when an earlier task in the queue deleted the OVA */
async function storedOva(store: Reader, extId: string): Promise<OvaEntity> {
  return rowWithId(store, Ova, extId)
}

const filesOf = ({ extId, clusterLocationExtIds = [] }: OvaEntity): OvaFile[] =>
  clusterLocationExtIds.map((clusterExtId) => ({ ovaExtId: extId, clusterExtId }))
/** An OVA of a VM has one file, on the cluster of the VM. */
const onlyFileOf = (ova: OvaEntity): OvaFile => filesOf(ova)[0] as OvaFile

function sourceOf({ source }: OvaEntity): string {
  const object = objectOf(Ova.kind, source)
  return object === undefined ? (source as { readonly url: string }).url : pathOf(object)
}

async function removeFiles(ctx: StepContext, { extId }: OfOva): Promise<void> {
  for (const file of filesOf(await pendingOva(ctx, extId))) await ctx.drivers.ovaFiles.remove(file)
}

/** Before the object is read: the check in `write archive` is too late for an object of terabytes. @throws ApiError OUT_OF_STORAGE */
async function requireRoomFor(ctx: StepContext, { clusterLocationExtIds = [] }: OvaEntity, object: ObjectOrigin) {
  const { sizeBytes } = await ctx.drivers.contentSource.look(object, ctx.stopping)
  await requireImageRoom(ctx, clusterLocationExtIds, sizeBytes)
}

function removeRow(ctx: RecordContext, { extId }: OfOva): Promise<void> {
  return ctx.store.remove(Ova, extId)
}

async function checksumOf(ctx: StepContext, file: OvaFile): Promise<OvaEntity['checksum']> {
  const { sha256 } = await ctx.drivers.ovaFiles.digests(file)
  return { $objectType: 'vmm.v4.content.OvaSha256Checksum', hexDigest: sha256 as string }
}

async function requireChecksum(ctx: StepContext, file: OvaFile, expected: string): Promise<void> {
  const algorithm = expected.length === 40 ? 'sha1' : 'sha256'
  const found = await ctx.drivers.ovaFiles.verify(file, { algorithm, hex: expected })
  if (found !== undefined) throw new ApiError('CHECKSUM_MISMATCH', { expected, found })
}

/** A source that cannot be read, or is no OVA, is reported; retryable errors stay. */
async function uploaded<T>(ova: OvaEntity, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isFinal = error instanceof OvaFault || (error instanceof DriverError && !error.retryable)
    if (!isFinal) throw error
    throw new ApiError(
      'OVA_UPLOAD_FAILED',
      { name: ova.name, source: sourceOf(ova), cause: error.message },
      { cause: error },
    )
  }
}

/** @param progress of the task, from the share of the file */
const transferOf = (ctx: StepContext, { clusterExtId }: OvaFile, progress: (share: number) => number): Transfer =>
  transferTo(ctx, clusterExtId, (share) => ctx.progress(Math.floor(progress(share))))
