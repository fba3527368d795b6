/**
 * A folder, or `s3://BUCKET[/PREFIX][?endpoint=https://HOST:PORT&region=REGION]`. Credentials come from the environment only: every user
 * can read arguments. Source: behaviour platform.md 8 (place), 9 (offline).
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type BackupPlace, prefix as backups } from '../archive/format.ts'
import { bucketForm, regionForm } from '../archive/location-rules.ts'
import { createAddressGuard } from '../core/access/address-guard.ts'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { realClock } from '../core/time/clock.ts'
import { createFolderStore } from '../drivers/folder/object-store.ts'
import type { BucketPlace, ObjectStore } from '../drivers/object-store.ts'
import { createS3ObjectStore } from '../drivers/s3/object-store.ts'

export interface OfflinePlace extends BackupPlace {
  readonly name: string
}

type Environment = Readonly<Record<string, string | undefined>>

const bucketUsage = 's3://BUCKET[/PREFIX][?endpoint=https://HOST:PORT&region=REGION]'

/** No address is forbidden: the operator chooses it, not a client. */
const allAddresses = ['0.0.0.0/0', '::/0']

/** @throws StartRefusal that names the expected form */
export function readPlace(text: string, env: Environment, cwd: string): OfflinePlace {
  return /^[a-z0-9+.-]+:\/\//i.test(text) ? bucketPlace(text, env) : folderPlace(resolve(cwd, text))
}

export const folderPlace = (folder: string): OfflinePlace => ({
  name: `the folder ${resolve(folder, backups)}`,
  store: createFolderStore(folder),
  place: { kind: 'cluster', clusterExtId: folder },
})

function bucketPlace(text: string, env: Environment): OfflinePlace {
  // Refusals do not repeat the text: it may contain credentials by mistake.
  const refuse = (fault: string): StartRefusal => new StartRefusal(`--from: ${fault}; expected ${bucketUsage}.`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 's3:') throw refuse('this is neither a folder nor a bucket')
  if (url.username !== '' || url.password !== '' || url.port !== '')
    throw refuse('keys are taken from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and a port belongs to the endpoint')
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'endpoint' && name !== 'region')
  if (unknown !== undefined) throw refuse('there are other parameters than endpoint and region')
  const bucket = url.hostname
  if (!bucketForm.test(bucket)) throw refuse('this is no name of a bucket')
  const region = url.searchParams.get('region') ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? 'us-east-1'
  if (!regionForm.test(region)) throw refuse('this is no region')
  const endpoint = endpointOf(url.searchParams.get('endpoint') ?? env['AWS_ENDPOINT_URL'], refuse)
  const place: BucketPlace = {
    kind: 'bucket',
    endpoint: endpoint?.host ?? `s3.${region}.amazonaws.com`,
    port: endpoint?.port ?? 443,
    bucket,
    region,
    // A wildcard certificate does not cover a bucket name with a dot.
    style: endpoint === undefined && !bucket.includes('.') ? 'host' : 'path',
    skipsCertificateValidation: false,
    ...credentialsIn(env),
    ...certificateIn(env),
  }
  const store = createS3ObjectStore({ guard: createAddressGuard({ allowed: allAddresses }), real: realClock })
  const below = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '')
  return { name: `the bucket ${bucket} at ${place.endpoint}:${place.port}`, store: within(store, below), place }
}

function endpointOf(
  text: string | undefined,
  refuse: (fault: string) => StartRefusal,
): { readonly host: string; readonly port: number } | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin = url?.protocol === 'https:' && url.href === `${url.origin}/`
  if (url === undefined || !isOrigin) throw refuse('the endpoint is no https:// address without path and user')
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 443) }
}

function credentialsIn(env: Environment): Pick<BucketPlace, 'accessKeyId' | 'secretAccessKey'> {
  const [accessKeyId, secretAccessKey] = [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY']]
  if (!accessKeyId || !secretAccessKey)
    throw new StartRefusal('A bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: put both into the environment.')
  if (env['AWS_SESSION_TOKEN'])
    throw new StartRefusal('AWS_SESSION_TOKEN is set: temporary keys are not served, use the keys of a user.')
  return { accessKeyId, secretAccessKey }
}

/** From the variable that other tools read as well. */
function certificateIn(env: Environment): Pick<BucketPlace, 'certificate'> {
  const file = env['AWS_CA_BUNDLE']
  if (!file) return {}
  try {
    return { certificate: readFileSync(file, 'utf8') }
  } catch (cause) {
    throw new StartRefusal(`The file of AWS_CA_BUNDLE cannot be read (${reasonOf(cause)}): correct its path.`, {
      cause,
    })
  }
}

/** Objects below a prefix, as a bucket. */
function within(store: ObjectStore, below: string): ObjectStore {
  if (below === '') return store
  const keyOf = (key: string): string => `${below}/${key}`
  return {
    list: async (place, prefix) =>
      (await store.list(place, keyOf(prefix))).map((object) => ({
        ...object,
        key: object.key.slice(below.length + 1),
      })),
    get: (place, key) => store.get(place, keyOf(key)),
    put: (place, key, content) => store.put(place, keyOf(key), content),
    remove: (place, key) => store.remove(place, keyOf(key)),
  }
}
