import { killAtEveryStep } from './killing.ts'

killAtEveryStep('clustermgmt')
