/** Written out: editors show them in full, and a published package needs no other types. */
import type { Client, ClientOptions, ControlClient } from '@hyperplane/client'

/** As on the command line, but a free port, plain HTTP and no rate limits: tests would depend on real time. */
export interface HyperplaneOptions {
  /** Default: 0, a free one. */
  readonly port?: number | undefined
  /** Content of a new data folder: a preset, or your own seed. Relative paths start from the working directory. Default: `demo`. */
  readonly seed?:
    | 'empty'
    | 'tiny'
    | 'demo'
    | 'lab'
    | 'large'
    | { readonly file: string }
    | { readonly text: string }
    | undefined
  /** Clock of the world; a number is the speed, in seconds of the world per real second. Default: `real`. */
  readonly clock?: 'real' | 'frozen' | number | undefined
  /** How long tasks take; with `instant`, tasks do not wait for the clock. Default: `instant`. */
  readonly durations?: 'instant' | 'natural' | undefined
  /** Default: `off`. */
  readonly rateLimits?: 'on' | 'report' | 'off' | undefined
  /** The clock that rate limits count by. Default: `real-time`. */
  readonly limits?: 'real-time' | 'world-clock' | undefined
  /** Size of this manager, hence of its rate limits. Default: `small`. */
  readonly tier?: 'xsmall' | 'small' | 'large' | 'xlarge' | undefined
  /** Lock a user out after failed sign-ins. Default: `on`. */
  readonly lockout?: 'on' | 'off' | undefined
  readonly control?: 'on' | 'off' | undefined
  /** Naming profile of requests that show none. Default: `spec`. */
  readonly names?: 'spec' | 'public' | undefined
  /** `loose` serves other minor versions by the nearest one. Default: `strict`. */
  readonly versions?: 'strict' | 'loose' | undefined
  /** Let clients register managers outside the simulated world. Default: false. */
  readonly allowOutbound?: boolean | undefined
  /** Call no other machine, whatever else is allowed. Default: false. */
  readonly offline?: boolean | undefined
  /** Time of the world at its start. Default: the real time. */
  readonly startTime?: string | Date | undefined
  /** The data folder; may be opened again later. Default: a temporary one, removed at the end. */
  readonly data?: string | undefined
  /** Password of the user `admin`. Default: a generated one; required for a data folder that was used before. */
  readonly adminPassword?: string | undefined
  /** HTTPS with a certificate of a local authority. Default: plain HTTP on the loopback address. */
  readonly https?: boolean | undefined
  /** Lowest severity that is logged to stderr. Default: `silent`. */
  readonly logLevel?: 'silent' | 'error' | 'warn' | 'info' | 'debug' | undefined
}

export type Credentials = Pick<ClientOptions, 'username' | 'password' | 'apiKey'>

export interface Hyperplane extends AsyncDisposable {
  /** Origin, without a trailing slash: the interface is below `/api`, the control interface below `/control`. */
  readonly url: string
  readonly adminPassword: string
  /** Path of the certificates that HTTPS clients trust (PEM); undefined with plain HTTP. */
  readonly certificate: string | undefined
  readonly client: Client
  readonly control: ControlClient
  as(credentials: Credentials): Client
  /** The interface of another world, by default as its `admin`, who has the password of `default` unless the world has its own. */
  world(name: string, credentials?: Credentials): Client
  /** Answers pending requests, then frees the port and removes the temporary folder. */
  close(): Promise<void>
}
