/** SSL certificates of clusters, and of this service. Source: behaviour clustermgmt.md 1.15. */
import { X509Certificate } from 'node:crypto'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { SSLCertificate, sslCertificateOperations } from '@hyperplane/contract/clustermgmt/ssl-certificate'
import { ApiError } from '../../../core/api-error.ts'
import { makeSelfSignedServer } from '../../../core/x509.ts'
import type { CertificatePair } from '../../../drivers/cluster-certificates.ts'
import type { Reader } from '../../../store/store.ts'
import { isManager } from '../../containers/storage-containers.ts'
import {
  DriverError,
  defineTask,
  implement,
  type ReadContext,
  type RecordContext,
  type StepContext,
} from '../../context.ts'
import { checkCluster, requireReachable } from '../../registrations/reachability.ts'
import { clusterTask } from '../cluster-task.ts'
import { serviceTlsOf, shownCertificate, shownFields, storedPair, subjectOf, useOnService } from './holder.ts'
import { readReplacement, regenerated, regenerationFaults, requestsNewKey } from './replacement.ts'

interface Replacing {
  readonly clusterExtId: string
  /** Absent: a new self-signed one. */
  readonly pair?: CertificatePair
}

const stage = 'stage the certificate'
const switchOver = 'switch to the certificate'

const updateCertificate = defineTask<Replacing>({
  name: 'clustermgmt.update-ssl-certificate',
  steps: [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      name: stage,
      progress: 40,
      seconds: [2, 4],
      run: async (ctx, { clusterExtId, pair: given }) => {
        const cluster = await clusterOf(ctx, clusterExtId)
        const { name, names } = subjectOf(cluster)
        const pair = given ?? (await makeSelfSignedServer(name, names, ctx.clock.now()))
        if (serviceTlsOf(ctx, cluster) === undefined) await ctx.drivers.hardware.stageCertificate(clusterExtId, pair)
        return pair
      },
      undo: (ctx, { clusterExtId }) => ctx.drivers.hardware.unstageCertificate(clusterExtId),
    },
    {
      name: switchOver,
      progress: 80,
      seconds: [2, 4],
      run: async (ctx, { clusterExtId }) => {
        const tls = serviceTlsOf(ctx, await clusterOf(ctx, clusterExtId))
        if (tls === undefined) await ctx.drivers.hardware.switchCertificate(clusterExtId, ctx.callKey)
        else useOnService(tls, stagedPair(ctx))
      },
      // Before the handshake: a start uses the certificate of the row.
      record: async (ctx, { clusterExtId }) => {
        const before = await ctx.store.get(SSLCertificate, clusterExtId)
        const row = rowOf(await clusterOf(ctx, clusterExtId), stagedPair(ctx))
        if (before === undefined) await ctx.store.insert(SSLCertificate, row)
        else await ctx.store.replace(SSLCertificate, row)
        return { keep: { before } }
      },
      undo: async (ctx, { clusterExtId }) => {
        const cluster = await ctx.store.get(Cluster, clusterExtId)
        const tls = cluster && serviceTlsOf(ctx, cluster)
        if (tls === undefined) return ctx.drivers.hardware.takeBackCertificate(clusterExtId, ctx.callKey)
        const switched = switchedFrom(ctx) ?? { before: await ctx.store.get(SSLCertificate, clusterExtId) }
        useOnService(tls, storedPair(ctx.secrets, switched.before))
      },
      unrecord: async (ctx, { clusterExtId }) => {
        const before = switchedFrom(ctx)?.before
        if (before !== undefined) await ctx.store.replace(SSLCertificate, before)
        else await ctx.store.remove(SSLCertificate, clusterExtId)
      },
    },
    {
      name: 'verify by handshake',
      seconds: [1, 3],
      run: async (ctx, { clusterExtId }) => {
        const shown = new X509Certificate(await shownCertificate(ctx, await clusterOf(ctx, clusterExtId)))
        if (shown.raw.equals(new X509Certificate(stagedPair(ctx).certificate).raw)) return
        throw DriverError.final('a new connection is shown another certificate')
      },
    },
  ],
  // The request made a row for the entity tag.
  onUndone: async (ctx, { clusterExtId }) => {
    const row = await ctx.store.get(SSLCertificate, clusterExtId)
    if (row !== undefined && row.publicCertificate === undefined) await ctx.store.remove(SSLCertificate, clusterExtId)
  },
})

export const sslCertificate = implement(
  sslCertificateOperations,
  {
    async updateSSLCertificate(ctx, { path: { clusterExtId }, prepared }) {
      const cluster = (await ctx.store.get(Cluster, clusterExtId)) as Cluster
      requireReachable(ctx, cluster)
      if (serviceTlsOf(ctx, cluster)?.isConfigured === true)
        throw new ApiError('CONFLICT', {
          fault:
            'The certificate of this service comes from the files of --tls-cert and --tls-key. Replace those and restart, or start without them.',
        })
      // The row holds the entity tag, so that of two updates with one tag the second is refused.
      if (!(await ctx.store.has(SSLCertificate, clusterExtId))) await ctx.store.insert(SSLCertificate, ctx.target)
      await ctx.store.touch(SSLCertificate, clusterExtId)
      const pair = prepared as CertificatePair | undefined
      const input = { clusterExtId, ...(pair === undefined ? {} : { pair }) }
      return ctx.startTask(updateCertificate, input, clusterTask('Update SSL Certificate', cluster))
    },
  },
  {
    rules: { updateSSLCertificate: ({ body }) => (requestsNewKey(body) ? regenerationFaults(body) : []) },
    // Once, and outside the transaction: an encrypted key takes up to a second to open.
    prepare: {
      updateSSLCertificate: async (ctx, { body }) =>
        requestsNewKey(body) ? undefined : readReplacement(body, ctx.clock.now()),
    },
    present: [[SSLCertificate, withShownCertificate]],
    computed: [[SSLCertificate, async ({ store }, extId) => unchosenRow(await store.get(Cluster, extId))]],
    tasks: [updateCertificate],
  },
)

/** Until a request chooses one, the cluster has its own certificate. */
const unchosenRow = (cluster: Cluster | undefined): SSLCertificate | undefined =>
  cluster && ({ extId: cluster.extId, clusterExtId: cluster.extId, privateKeyAlgorithm: regenerated } as SSLCertificate)

async function withShownCertificate(
  ctx: ReadContext,
  rows: readonly SSLCertificate[],
): Promise<readonly SSLCertificate[]> {
  return Promise.all(
    rows.map(async (row) => {
      const cluster = (await ctx.store.get(Cluster, row.extId)) as Cluster
      // Its row may lack the key, and then the service shows another certificate.
      const isStored = row.publicCertificate !== undefined && serviceTlsOf(ctx, cluster) === undefined
      return isStored ? row : { ...row, ...shownFields(await shownCertificate(ctx, cluster)) }
    }),
  )
}

async function clusterOf({ store }: { readonly store: Reader }, clusterExtId: string): Promise<Cluster> {
  const cluster = await store.get(Cluster, clusterExtId)
  if (cluster === undefined) throw DriverError.final('the cluster was removed')
  return cluster
}

const stagedPair = ({ outputs }: StepContext | RecordContext): CertificatePair => outputs[stage] as CertificatePair

/** undefined: the switch is not recorded. */
const switchedFrom = ({ outputs }: StepContext | RecordContext) =>
  outputs[switchOver] as { readonly before?: SSLCertificate } | undefined

/** Only this service needs its key again, at the next start: a cluster has its own. */
const rowOf = (cluster: Cluster, { certificate, caChain = '', privateKey }: CertificatePair): SSLCertificate =>
  ({
    extId: cluster.extId,
    clusterExtId: cluster.extId,
    ...shownFields(certificate + caChain),
    ...(isManager(cluster) ? { privateKey } : {}),
  }) as SSLCertificate
