import { killAtEveryStep } from './killing.ts'

killAtEveryStep('platform')
